package demo

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// quick is a plan that measures little, on addresses of its own.
func quick(t *testing.T) (Options, plan) {
	t.Helper()
	return Options{Size: 3001, Capture: filepath.Join(t.TempDir(), "demo.pcapng")},
		plan{operations, netip.MustParseAddr("127.67.0.2"), netip.MustParseAddr("127.67.0.3"), time.Millisecond}
}

// packets are the operations of the packets in a story, in order.
var packets = regexp.MustCompile(`│[ ◀─]* ?((?:SEND|RDMA|ACK|ATOMIC|FetchAdd|CmpSwap)[A-Za-z ]*?) PSN`)

var wantPackets = strings.Split(`SEND First
SEND Middle
SEND Last
ACK
SEND First
SEND Middle
SEND Last with Immediate
ACK
RDMA WRITE First
RDMA WRITE Middle
RDMA WRITE Last
ACK
RDMA WRITE First
RDMA WRITE Middle
RDMA WRITE Last with Immediate
ACK
RDMA READ Request
RDMA READ Response First
RDMA READ Response Middle
RDMA READ Response Last
FetchAdd
ATOMIC Acknowledge
CmpSwap
ATOMIC Acknowledge`, "\n")

// Every operation works on every network, and its ladder shows its packets.
func TestEveryOperationOnEveryNetwork(t *testing.T) {
	for name := range networks {
		t.Run(name, func(t *testing.T) {
			if name == UDP && runtime.GOOS != "linux" {
				t.Skip("package link/udp is for Linux")
			}
			o, p := quick(t)
			o.Network = name
			requireStory(t, o, p)
		})
	}
}

// requireStory runs the demo and looks at all that it tells.
func requireStory(t *testing.T, o Options, p plan) *Result {
	t.Helper()
	var story bytes.Buffer
	var progress []string
	o.Out, o.Progress = &story, func(op string) { progress = append(progress, op) }
	r, err := run(t.Context(), o, p)
	require.NoError(t, err, story.String())

	var drawn []string
	for _, m := range packets.FindAllStringSubmatch(story.String(), -1) {
		drawn = append(drawn, m[1])
	}
	require.Equal(t, wantPackets, drawn, story.String())
	require.NotContains(t, story.String(), "✗")
	require.NotContains(t, story.String(), "retransmission")
	require.Equal(t, len(operations), strings.Count(story.String(), "bytes are where they belong"))
	for line := range strings.Lines(story.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), width+1, line)
	}

	require.Equal(t, o.Network, r.Network)
	require.Equal(t, 2*len(wantPackets), r.Packets, "each as sent and as received")
	require.Len(t, r.Operations, len(operations))
	require.Positive(t, r.Checked)
	for i, m := range r.Operations {
		require.Equal(t, operations[i].name, m.Operation)
		require.Equal(t, operations[i].name, progress[i])
		require.Positive(t, m.P50)
		require.GreaterOrEqual(t, m.P99, m.P50)
		require.Positive(t, m.PerSecond)
	}
	var list bytes.Buffer
	require.NoError(t, decode.Print(&list, r.Capture, decode.Options{}))
	require.Contains(t, list.String(), fmt.Sprintf("%d frames, %[1]d of them RoCEv2, %[1]d shown.", r.Packets))
	require.NotContains(t, list.String(), "bad ICRC")
	return r
}

// An operation that does anything but what it has to is found out, whichever it is.
func TestWrongBytesAreFound(t *testing.T) {
	for i, right := range operations {
		wrong := right
		wrong.expect = func(a, b *memory, slot int) {
			right.expect(a, b, slot)
			b.expected(slot)[7] ^= 0x10
		}
		o, p := quick(t)
		o.Network = Sim
		p.operations = append(operations[:i:i], wrong)
		var story bytes.Buffer
		o.Out = &story
		_, err := run(t.Context(), o, p)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, right.name)
		require.Equal(t, "B", mismatch.Owner)
		require.Equal(t, "byte 7 of slot 0", mismatch.Place)
		require.Equal(t, mismatch.Want^0x10, mismatch.Got)
		require.ErrorContains(t, err, right.name)
		require.Equal(t, i+1, strings.Count(story.String(), "B · QP"), "the ladder of what failed is drawn")
		require.Equal(t, i, strings.Count(story.String(), "✓"))
	}
}

// So is one that touches more than it has to, or nothing at all.
func TestGuardsAreWatched(t *testing.T) {
	for place, expect := range map[string]func(a, b *memory, slot int){
		"A: guard byte 63 before the first slot": func(a, b *memory, slot int) { atB(a, b, slot); a.want[guard-1]++ },
		"B: guard byte 0 behind slot 0":          func(a, b *memory, slot int) { atB(a, b, slot); b.want[b.at(slot)+b.size]++ },
		"B: byte 0 of slot 0":                    func(_, _ *memory, _ int) {},
	} {
		o, p := quick(t)
		o.Network = Sim
		write := operations[2]
		write.expect = expect
		p.operations = []operation{write}
		_, err := run(t.Context(), o, p)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, place)
		require.Equal(t, place, mismatch.Owner+": "+mismatch.Place)
	}
}

// What the completion of a receive says is checked too.
func TestWrongImmediateIsFound(t *testing.T) {
	o, p := quick(t)
	o.Network = Sim
	withImm := operations[0] // sends no immediate data
	withImm.imm = true
	p.operations = []operation{withImm}
	_, err := run(t.Context(), o, p)
	require.ErrorContains(t, err, "B: receive 0 completed with immediate data 0x00000000")
}

// Where UDP cannot be had, the simulated network stands in and the reason is told;
// who asks for UDP gets the reason as an error.
func TestSimulatesWhereUDPCannotBeHad(t *testing.T) {
	o, p := quick(t)
	p.addrA, p.addrB = netip.MustParseAddr("127.67.0.4"), netip.MustParseAddr("127.67.0.5")
	if runtime.GOOS == "linux" {
		taken, err := udp.Open(p.addrB)
		require.NoError(t, err)
		defer taken.Close()
	}
	var story bytes.Buffer
	o.Out = &story
	r, err := run(t.Context(), o, p)
	require.NoError(t, err)
	require.Equal(t, Sim, r.Network)
	require.NotEmpty(t, r.Note)
	require.Contains(t, strings.Join(strings.Fields(story.String()), " "), "Not over UDP, because of this: "+r.Note)
	require.Contains(t, story.String(), "numbers of a simulation")
	for line := range strings.Lines(story.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), width+1, line)
	}

	o.Network, o.Capture = UDP, ""
	t.Setenv("TMPDIR", t.TempDir())
	_, err = run(t.Context(), o, p)
	require.EqualError(t, err, r.Note)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	require.NoError(t, err)
	require.Empty(t, left, "a capture of nothing")
}

func TestOptionsAreChecked(t *testing.T) {
	o, p := quick(t)
	o.Size = 7
	_, err := run(t.Context(), o, p)
	require.EqualError(t, err, "--size 7: must be 8 to 1048576")
	o, p = quick(t)
	o.Network = "token ring"
	_, err = run(t.Context(), o, p)
	require.EqualError(t, err, `--link "token ring": there is no such network; choose udp or sim`)
	o, p = quick(t)
	o.Network, o.Capture = Sim, filepath.Join(t.TempDir(), "no", "folder")
	_, err = run(t.Context(), o, p)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "--out")
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}
