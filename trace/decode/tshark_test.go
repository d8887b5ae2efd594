package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// Dissectors that take an application's payload for their own protocol; the fields
// under test are those of the transport.
var tsharkDisabled = []string{
	"rpcordma", "nvme-rdma", "infiniband.eoib", "smb_direct", "smc", "lnet", "iser", "infiniband_sdp", "fcoib",
}

// T02: every field that tshark finds in the transport headers, MADs and CM messages of
// the captures has the value that we decode. A field without a counterpart in the
// table fails the test.
func TestTsharkAgreesOnCaptures(t *testing.T) {
	var records []Record
	for _, name := range captureFiles(t) {
		records = append(records, readAll(t, name)...)
	}
	compared := compareWithTshark(t, records)
	require.Equal(t, 1503, compared.packets, "packets compared")
	require.Equal(t, 25489, compared.fields, "fields compared")
	t.Logf("%d fields of %d packets are equal; %d more are tshark's own words", compared.fields, compared.packets, compared.words)
}

type comparison struct{ packets, fields, words int }

// compareWithTshark gives the records to tshark and compares packet by packet.
func compareWithTshark(t *testing.T, records []Record) (c comparison) {
	t.Helper()
	packets := make(map[int]*Packet)
	for i := range records {
		records[i].Number = i + 1
		if p := Decode(&records[i]); p != nil {
			packets[i+1] = p
		}
	}
	for _, theirs := range runTshark(t, records) {
		p := packets[theirs.number]
		require.NotNil(t, p, "tshark finds a RoCE packet in record %d, we do not", theirs.number)
		delete(packets, theirs.number)
		c.packets++
		for _, f := range theirs.fields {
			c.compare(t, p, f)
		}
	}
	require.Empty(t, packets, "packets that tshark does not see")
	return c
}

func (c *comparison) compare(t *testing.T, p *Packet, f tsharkField) {
	t.Helper()
	if _, ok := tsharkWords[f.Name]; ok {
		c.words++
		return
	}
	ours, ok := tsharkTable[f.Name]
	require.True(t, ok, "packet %d: no counterpart for tshark's field %s (%s)", p.Number, f.Name, f.Showname)
	want := ours(p)
	if b, ok := want.([]byte); ok {
		require.Equal(t, fmt.Sprintf("%x", b), f.Value, "packet %d (%s): %s", p.Number, p.Label(), f.Name)
	} else {
		theirs, err := strconv.ParseUint(f.Value, 16, 64)
		require.NoError(t, err, "%s of packet %d", f.Name, p.Number)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(theirs), "packet %d (%s): %s", p.Number, p.Label(), f.Name)
	}
	c.fields++
}

// tsharkField is one field of tshark's PDML: Value holds its bytes, or its bits as
// a number, in hexadecimal.
type tsharkField struct {
	Name     string        `xml:"name,attr"`
	Showname string        `xml:"showname,attr"`
	Value    string        `xml:"value,attr"`
	Show     string        `xml:"show,attr"`
	Fields   []tsharkField `xml:"field"`
}

type tsharkPacket struct {
	number int
	fields []tsharkField
}

// runTshark returns the infiniband fields of every packet that has some.
func runTshark(t *testing.T, records []Record) []tsharkPacket {
	t.Helper()
	testenv.Need(t, testenv.Tshark)
	file := filepath.Join(t.TempDir(), "all.pcap")
	require.NoError(t, os.WriteFile(file, pcapFile(records), 0o600))
	args := []string{"-r", file, "-Y", "infiniband", "-J", "infiniband", "-T", "pdml"}
	args = append(args, "--disable-heuristic", "eth_over_ib")
	for _, p := range tsharkDisabled {
		args = append(args, "--disable-protocol", p)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "tshark: %s", &stderr)
	return parsePDML(t, out)
}

func parsePDML(t *testing.T, b []byte) (packets []tsharkPacket) {
	t.Helper()
	var doc struct {
		Packets []struct {
			Protos []tsharkField `xml:"proto"`
		} `xml:"packet"`
	}
	require.NoError(t, xml.Unmarshal(b, &doc))
	for _, x := range doc.Packets {
		var p tsharkPacket
		for _, proto := range x.Protos {
			switch proto.Name {
			case "geninfo":
				p.number, _ = strconv.Atoi(proto.Fields[0].Show)
			case "infiniband":
				p.fields = append(p.fields, flatten("infiniband", proto.Fields)...)
			}
		}
		packets = append(packets, p)
	}
	return packets
}

// flatten lists the fields at all depths. Reserved bits, which all have one name,
// are named after what they lie in.
func flatten(parent string, fields []tsharkField) (all []tsharkField) {
	for _, f := range fields {
		if f.Name == "infiniband.reserved" {
			f.Name = parent + " reserved"
		}
		if strings.HasPrefix(f.Name, "infiniband.") {
			all = append(all, f)
		}
		all = append(all, flatten(f.Name, f.Fields)...)
	}
	return all
}

// readAll returns the records of a capture.
func readAll(t testing.TB, name string) (records []Record) {
	t.Helper()
	r, err := Open(name)
	require.NoError(t, err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records
		}
		require.NoError(t, err)
		records = append(records, rec)
	}
}

// pcapFile writes a classic capture of Ethernet frames.
func pcapFile(records []Record) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, magicMicro)
	b = le.AppendUint16(le.AppendUint16(b, 2), 4)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(le.AppendUint32(b, MaxRecord), uint32(LinkEthernet))
	for _, r := range records {
		b = le.AppendUint32(b, uint32(r.Time.Unix()))
		b = le.AppendUint32(b, uint32(r.Time.Nanosecond()/1000))
		b = le.AppendUint32(b, uint32(len(r.Data)))
		b = le.AppendUint32(b, uint32(max(r.Length, len(r.Data))))
		b = append(b, r.Data...)
	}
	return b
}
