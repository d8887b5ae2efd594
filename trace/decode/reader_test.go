package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/transport"
	"github.com/rocinante-rdma/roce/wire"
)

// readBytes returns the records of a capture in memory and the error that ends it.
func readBytes(b []byte) (records []Record, err error) {
	r, err := NewReader("x.pcap", bytes.NewReader(b))
	for err == nil {
		var rec Record
		if rec, err = r.Next(); err == nil {
			records = append(records, rec)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return records, err
}

func sample(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/captures/vt_read.pcap")
	require.NoError(t, err)
	return b
}

// Damaged and foreign files end with an error that names file, record and what to
// do; the records before the damage are read.
func TestReaderErrors(t *testing.T) {
	whole := sample(t)
	huge := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(huge[24+8:], 1<<31)
	version := bytes.Clone(whole)
	version[4] = 9
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "x.pcap: the file is empty"},
		"two bytes":        {[]byte("hi"), "x.pcap: neither pcap nor pcapng (it begins with 68 69); give a file written by tcpdump -w, Wireshark or roci"},
		"text":             {[]byte("hello world"), "x.pcap: neither pcap nor pcapng (it begins with 68 65 6c 6c); give a file written by tcpdump -w, Wireshark or roci"},
		"compressed":       {[]byte{0x1f, 0x8b, 8, 0}, "x.pcap: the capture is compressed; unpack it with gunzip first"},
		"version":          {version, "x.pcap: pcap of version 9, only version 2 is known"},
		"cut file header":  {whole[:20], "x.pcap: reading the pcap file header: the file ends in the middle of it; copy or record the capture again"},
		"cut record":       {whole[:24+16+10], "x.pcap: record 1: the file ends in the middle of it; copy or record the capture again (0 records before it were read)"},
		"cut last":         {whole[:len(whole)-1], "x.pcap: record 20: the file ends in the middle of it; copy or record the capture again (19 records before it were read)"},
		"impossible size":  {huge, "x.pcap: record 1: it claims 2147483648 captured bytes, the limit is 262144; the file is damaged here (0 records before it were read)"},
		"cut pcapng":       {ngFile()[:10], "x.pcap: reading the pcapng section header: the file ends in the middle of it; copy or record the capture again"},
		"no section magic": {append([]byte{0x0a, 0x0d, 0x0d, 0x0a}, make([]byte, 28)...), "x.pcap: reading the pcapng section header: pcapng section has no byte-order magic but 00 00 00 00; the file is damaged here"},
		"length 5":         {append(ngFile(), 6, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0), "x.pcap: record 1: pcapng block of type 6 has the impossible length 5; the file is damaged here (0 records before it were read)"},
		"no interface":     {ngFile(ngBlock(6, make([]byte, 20))), "x.pcap: record 1: pcapng packet names interface 0, the section describes 0 (0 records before it were read)"},
		"too long":         {ngFile([]byte{6, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0}), "x.pcap: record 1: pcapng block of type 6 is 1073741824 bytes long, the limit is 1048576 (0 records before it were read)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBytes(c.file)
			require.EqualError(t, err, c.want)
		})
	}
}

// A file cut anywhere yields a prefix of its records, and an error unless the cut
// lies between two records.
func TestReaderCutAnywhere(t *testing.T) {
	whole := sample(t)
	all, err := readBytes(whole)
	require.NoError(t, err)
	ends := map[int]int{24: 0}
	at := 24
	for i, r := range all {
		at += 16 + len(r.Data)
		ends[at] = i + 1
	}
	for n := range whole {
		records, err := readBytes(whole[:n])
		if k, ok := ends[n]; ok {
			require.NoError(t, err, "cut at %d", n)
			require.Len(t, records, k)
		} else {
			require.Error(t, err, "cut at %d", n)
		}
		require.Equal(t, all[:len(records)], append([]Record{}, records...), "cut at %d", n)
	}
}

// Big-endian and nanosecond files read like the usual ones.
func TestPcapVariants(t *testing.T) {
	be := binary.BigEndian
	b := be.AppendUint32(nil, magicNano)
	b = append(b, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 101)
	b = be.AppendUint32(be.AppendUint32(be.AppendUint32(be.AppendUint32(b, 7), 8), 3), 5)
	records, err := readBytes(append(b, 1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, []Record{{Number: 1, Time: time.Unix(7, 8).UTC(), Link: LinkRaw, Data: []byte{1, 2, 3}, Length: 5}}, records)
}

// ngFile is a little-endian pcapng file of a section header and blocks.
func ngFile(blocks ...[]byte) []byte {
	b := ngBlock(blockSection, []byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	for _, x := range blocks {
		b = append(b, x...)
	}
	return b
}

func ngBlock(kind uint32, body []byte) []byte {
	le := binary.LittleEndian
	n := uint32(len(body) + blockOverhead)
	b := le.AppendUint32(le.AppendUint32(nil, kind), n)
	return le.AppendUint32(append(b, body...), n)
}

// A pcapng packet of each kind, with time resolution, offset, several comments and
// blocks in between that nobody knows.
func TestPcapng(t *testing.T) {
	face := []byte{1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	enhanced := []byte{0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3, 0,
		1, 0, 2, 0, 'h', 'i', 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 1, 0, 3, 0, 'y', 'o', 'u', 0, 0, 0, 0, 0}
	simple := []byte{3, 0, 0, 0, 7, 8, 9, 0}
	records, err := readBytes(ngFile(ngBlock(99, make([]byte, 8)), ngBlock(blockInterface, face),
		ngBlock(blockEnhanced, enhanced), ngBlock(blockSimple, simple)))
	require.NoError(t, err)
	require.Equal(t, []Record{
		{Number: 1, Time: time.Unix(100, 5).UTC(), Link: LinkEthernet, Data: []byte{1, 2, 3}, Length: 9, Comment: "hi\nyou"},
		{Number: 2, Link: LinkEthernet, Data: []byte{7, 8}, Length: 3},
	}, records)
}

// Time stamps of any resolution: decimal, binary, and those that no clock has.
func TestResolution(t *testing.T) {
	require.Equal(t, time.Unix(3, 500_000_000).UTC(), parseResolution(0x80|1).time(7, 0))
	require.Equal(t, time.Unix(1, 1000).UTC(), parseResolution(6).time(1_000_001, 0))
	require.Equal(t, time.Unix(1, 1).UTC(), parseResolution(19).time(1e19+1e10, 0))
	require.Equal(t, microseconds, parseResolution(20))
	require.Equal(t, microseconds, parseResolution(0x80|64))
}

// What our own recorder writes is read with its comments.
func TestOwnCaptureKeepsComments(t *testing.T) {
	var tape tape
	frame := Decode(tape.send(alice, bob, bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x20, PSN: 5}, 8)).Frame
	var b bytes.Buffer
	rec := trace.NewSync(trace.NewPcapng(&b, dawn))
	rec.Device("alice").Packet(&trace.Event{
		ICRC: wire.ICRCGood,
		Time: clock.Time(1500), Dir: trace.Out, QPN: 0x10, Src: alice, Dst: bob, SrcPort: 50000,
		ID: 1001, IDKnown: true, Flags: 0x4000, Frame: [][]byte{frame}, Cause: transport.Cause(0),
	})
	require.NoError(t, rec.Close())
	records, err := readBytes(b.Bytes())
	require.NoError(t, err)
	require.Len(t, records, 1)
	p := Decode(&records[0])
	require.Equal(t, ICRCGood, p.ICRC)
	require.Equal(t, dawn.Add(1500), p.Time)
	require.Contains(t, p.Comment, "QP 0x10: ")
}
