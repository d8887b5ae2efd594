package testwire

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/fault"
	"github.com/rocinante-rdma/roce/wire"
)

// paths are one over each IP protocol.
var paths = []*wire.Path{
	{Src: netip.MustParseAddr("10.9.0.1"), Dst: netip.MustParseAddr("10.9.0.2"), SrcPort: 0xc123, TrafficClass: 0x62},
	{Src: netip.MustParseAddr("fd09::1"), Dst: netip.MustParseAddr("fd09::2"), SrcPort: 0xc123, TrafficClass: 0x61, VLAN: 5},
}

// frameOf is a frame with a SEND Only of 64 bytes.
func frameOf(p *wire.Path, psn bth.PSN) []byte {
	packet := bth.Packet{Opcode: bth.RCSendOnly, PSN: psn}
	payload := make([]byte, bth.BTHLen+64+wire.ICRCLen)
	packet.PutHeaders(payload)
	p.Prepare()
	p.Seal(7, payload[:bth.BTHLen], [][]byte{payload[bth.BTHLen : bth.BTHLen+64]}, payload[bth.BTHLen+64:])
	h := p.Headers(7)
	return append(h.AppendFrame(nil, len(payload)), payload...)
}

// note is the PSNs of frames; "?" is one of no packet.
func note(frames ...[]byte) string {
	var list []string
	for _, b := range frames {
		p, ok := parsePacket(b)
		if !ok {
			list = append(list, "?")
			continue
		}
		var h bth.Packet
		_ = h.ParseBTH(p.Payload) // it has one
		list = append(list, fmt.Sprint(h.PSN))
	}
	return strings.Join(list, " ")
}

// bench is a line whose frames are written down.
type bench struct {
	*Line
	rules *fault.Set
	begun time.Time

	mu   sync.Mutex
	late []string // PSN and time
}

func newBench(t *testing.T, script string) *bench {
	t.Helper()
	rules, err := fault.Parse(script)
	require.NoError(t, err)
	b := &bench{rules: new(fault.Set), begun: time.Now()}
	b.rules.Add(rules...)
	b.Line = NewLine(b.rules, "a", "b", func(f []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.late = append(b.late, fmt.Sprintf("%s after %v", note(f), time.Since(b.begun)))
	})
	return b
}

// send passes PSN 0 to 5 and returns what goes on at once.
func (b *bench) send() string {
	var now [][]byte
	for psn := range bth.PSN(6) {
		now, _ = b.Pass(now, frameOf(paths[0], psn))
	}
	return note(now...)
}

// What rules say happens to frames, in order and in time.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		script string
		now    string
		late   []string
		counts Counts
	}{
		{"", "0 1 2 3 4 5", nil, Counts{Packets: 6, Forwarded: 6}},
		{"drop any psn 2", "0 1 3 4 5", nil, Counts{Packets: 6, Struck: 1, Forwarded: 5}},
		{"drop any from b", "0 1 2 3 4 5", nil, Counts{Packets: 6, Forwarded: 6}},
		{"duplicate any psn 2", "0 1 2 2 3 4 5", nil, Counts{Packets: 6, Struck: 1, Forwarded: 7}},
		{"reorder any psn 2 by 1", "0 1 3 2 4 5", nil, Counts{Packets: 6, Struck: 1, Forwarded: 6}},
		{"reorder any psn 2 by 3", "0 1 3 4 5 2", nil, Counts{Packets: 6, Struck: 1, Forwarded: 6}},
		{"reorder any psn 2 by 4", "0 1 3 4 5", []string{"2 after 10ms"}, Counts{Packets: 6, Struck: 1, Forwarded: 6}},
		{"reorder any nth 3 count 2 by 2", "0 1 4 5 2 3", nil, Counts{Packets: 6, Struck: 2, Forwarded: 6}},
		{"reorder any by 1 nth 6", "0 1 2 3 4", []string{"5 after 10ms"}, Counts{Packets: 6, Struck: 1, Forwarded: 6}},
		{
			"delay any psn 2 by 5ms\ndelay any psn 1 by 7ms", "0 3 4 5", []string{"2 after 5ms", "1 after 7ms"},
			Counts{Packets: 6, Struck: 2, Forwarded: 6},
		},
		{ // the delayed one overtakes the reordered one
			"delay any psn 2 by 5ms\nreorder any psn 5 by 1", "0 1 3 4", []string{"2 after 5ms", "5 after 5ms"},
			Counts{Packets: 6, Struck: 2, Forwarded: 6},
		},
		{
			"delay any psn 2 by 5ms\nduplicate any psn 2", "0 1 2 3 4 5", []string{"2 after 5ms"},
			Counts{Packets: 6, Struck: 1, Forwarded: 7},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, c.script)
			require.Equal(t, c.now, b.send(), c.script)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, c.late, b.late, c.script)
			require.Equal(t, c.counts, b.Counts(), c.script)
			b.Close()
		})
	}
}

// What is held up is lost with Close, and what would be held up after it.
func TestLineCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "delay any psn 2 by 5ms\nreorder any psn 3 by 9")
		require.Equal(t, "0 1 4 5", b.send())
		require.EqualValues(t, 2, b.Counts().Waiting)
		b.Close()
		require.Equal(t, "0 1 4 5", b.send())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, b.late)
		require.Zero(t, b.Counts().Waiting)
	})
}

// Frames that are no RoCEv2 packets meet no rule.
func TestOtherFramesPass(t *testing.T) {
	b := newBench(t, "drop any")
	arp := append(make([]byte, 12), 0x08, 0x06, 1, 2, 3)
	frame := frameOf(paths[0], 1)
	frame[wire.EthernetLen+wire.IPv4Len+3]++ // another port
	for _, other := range [][]byte{arp, frame, nil, frame[:20]} {
		now, fate := b.Pass(nil, other)
		require.Equal(t, [][]byte{other}, now)
		require.Equal(t, fault.Fate{}, fate)
	}
	require.Equal(t, Counts{}, b.Counts())
}

// A mark changes the ECN field and what is a sum over it, and nothing else: the ICRC
// stays good. A flipped bit is where the rule says, and leaves the UDP checksum.
func TestMarksAndCorruption(t *testing.T) {
	for _, p := range paths {
		b := newBench(t, "mark-ce any\ncorrupt any psn 9 bit 100")
		before := frameOf(p, 1)
		now, _ := b.Pass(nil, before)
		marked, err := wire.ParseFrame(now[0])
		require.NoError(t, err)
		require.Equal(t, p.TrafficClass|3, marked.TrafficClass)
		require.True(t, wire.VerifyICRC(p.Src, p.Dst, p.SrcPort, marked.Flags, marked.ID, [2][]byte{marked.Payload}))
		again := *p
		again.TrafficClass |= 3
		require.Equal(t, frameOf(&again, 1), now[0])

		frame := frameOf(&again, 9)
		whole := frameOf(&again, 9)
		now, _ = b.Pass(nil, frame)
		require.Equal(t, whole[len(whole)-len(marked.Payload)+12]^0x08, now[0][len(whole)-len(marked.Payload)+12])
		now[0][len(whole)-len(marked.Payload)+12] ^= 0x08
		require.Equal(t, whole, now[0])
	}
}
