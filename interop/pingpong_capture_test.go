//go:build linux

package interop

import (
	"bytes"
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	"github.com/rocinante-rdma/roce/trace/decode"
)

// requireSoundCapture fails the test if a packet of either end is broken: by our
// own decoder, with its ICRC, and by tshark.
func requireSoundCapture(t *testing.T, file string, packets []*decode.Packet) {
	t.Helper()
	requireSound(t, packets)
	requireKnown(t, file, len(packets))
}

// requireSound is requireSoundCapture by our own decoder.
func requireSound(t *testing.T, packets []*decode.Packet) {
	t.Helper()
	for _, p := range packets {
		require.NoError(t, p.Err, "packet %d", p.Number)
		require.Equal(t, decode.ICRCGood, p.ICRC, "ICRC of packet %d, %s from %v", p.Number, p.Label(), p.Src)
	}
}

// requireKnown is requireSoundCapture by tshark, which does not look at the ICRC, for a
// file with so many packets.
func requireKnown(t *testing.T, file string, packets int) {
	t.Helper()
	require.Equal(t, packets, tsharkCount(t, file, "infiniband && udp.port == 4791"), "packets that tshark knows")
	require.Zero(t, tsharkCount(t, file, "_ws.malformed && udp.port == 4791"), "packets that tshark calls malformed")
}

// tsharkCount is the number of packets that tshark's display filter takes. It is kept
// from guessing at what messages of few bytes are: it takes them for RPC, or for
// Ethernet, and calls them malformed.
func tsharkCount(t *testing.T, file, filter string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cellTimeout)
	defer cancel()
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "tshark", "-r", file, "-Y", filter, "-T", "fields", "-e", "frame.number",
		"--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic", "eth_over_ib")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	return strings.Count(string(out), "\n")
}

// requireData fails the test unless every message was on the cable in both
// directions, and held what it must: what the client sent first, and the server
// returned.
func (c pingpongCell) requireData(t *testing.T, packets []*decode.Packet, end pingpongEnd) {
	t.Helper()
	ours := c.messages(t, packets, end.local)
	theirs := c.messages(t, packets, end.remote)
	for i := range pingpongIters {
		require.True(t, bytes.Equal(ours[i], theirs[i]), "message %d came back changed", i+1)
	}
	if c.role == "server" {
		require.True(t, bytes.Equal(toolMessage(c.size), theirs[0]), "the tool's message is not what its -c makes")
		return
	}
	for i := 1; i < pingpongIters-1; i++ {
		require.NotEqual(t, ours[i-1][0], ours[i][0], "messages %d and %d are the same", i, i+1)
	}
}

// toolMessage is what the tool's client sends with -c.
func toolMessage(size int) []byte {
	b := bytes.Repeat([]byte{0x7b}, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 0
	}
	return b
}

// messages puts the messages together that an end sent. Of packets that were sent
// again the first counts: a server has one buffer for both directions, so that a
// late second one, which the receiver drops, may hold parts of the next message.
func (c pingpongCell) messages(t *testing.T, packets []*decode.Packet, from pingpongAddress) [][]byte {
	t.Helper()
	payload := make(map[bth.PSN][]byte)
	for _, p := range packets {
		_, again := payload[p.BTH.PSN]
		if p.Src == from.addr && p.BTH.Opcode.Is(bth.Send) && !again {
			payload[p.BTH.PSN] = bytes.Join(p.BTH.Payload[:], nil)
		}
	}
	psn := from.psn
	messages := make([][]byte, pingpongIters)
	for i := range messages {
		for len(messages[i]) < c.size {
			piece, sent := payload[psn]
			require.True(t, sent, "message %d from %v: PSN %d was never on the cable", i+1, from.addr, psn)
			messages[i] = append(messages[i], piece...)
			psn = psn.Add(1)
		}
		require.Len(t, messages[i], c.size)
	}
	return messages
}

// retransmissions is the number of packets that were sent more than once, by their
// senders.
func retransmissions(packets []*decode.Packet) map[netip.Addr]int {
	pairs := decode.NewPairs()
	for _, p := range packets {
		pairs.Learn(p)
	}
	annotator := decode.NewAnnotator(pairs)
	again := make(map[netip.Addr]int)
	for _, p := range packets {
		annotator.Annotate(p)
		for _, n := range p.Notes {
			if n.Kind == decode.NoteRetransmission {
				again[p.Src]++
			}
		}
	}
	return again
}
