package bth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
)

// opcodeTable is the specification's list (IBTA vol. 1, table 38 and annexes A14,
// A17, A19), one operation a line: value, name, services that have it, extension
// headers of the RC packet, whether payload may follow.
const opcodeTable = `
00 SEND First                    RC UC RD    XRC -               payload
01 SEND Middle                   RC UC RD    XRC -               payload
02 SEND Last                     RC UC RD    XRC -               payload
03 SEND Last with Immediate      RC UC RD    XRC Imm             payload
04 SEND Only                     RC UC RD UD XRC -               payload
05 SEND Only with Immediate      RC UC RD UD XRC Imm             payload
06 RDMA WRITE First              RC UC RD    XRC RETH            payload
07 RDMA WRITE Middle             RC UC RD    XRC -               payload
08 RDMA WRITE Last               RC UC RD    XRC -               payload
09 RDMA WRITE Last with Immediate RC UC RD   XRC Imm             payload
0a RDMA WRITE Only               RC UC RD    XRC RETH            payload
0b RDMA WRITE Only with Immediate RC UC RD   XRC RETH,Imm        payload
0c RDMA READ Request             RC    RD    XRC RETH            none
0d RDMA READ Response First      RC    RD    XRC AETH            payload
0e RDMA READ Response Middle     RC    RD    XRC -               payload
0f RDMA READ Response Last       RC    RD    XRC AETH            payload
10 RDMA READ Response Only       RC    RD    XRC AETH            payload
11 Acknowledge                   RC    RD    XRC AETH            none
12 ATOMIC Acknowledge            RC    RD    XRC AETH,AtomicAck  none
13 CmpSwap                       RC    RD    XRC AtomicETH       none
14 FetchAdd                      RC    RD    XRC AtomicETH       none
15 RESYNC                              RD        -               none
16 SEND Last with Invalidate     RC          XRC IETH            payload
17 SEND Only with Invalidate     RC          XRC IETH            payload
1c FLUSH                         RC    RD    XRC FETH,RETH       none
1d ATOMIC WRITE                  RC    RD    XRC RETH            payload
`

var services = map[string]bth.Transport{
	"RC": bth.TransportRC, "UC": bth.TransportUC, "RD": bth.TransportRD, "UD": bth.TransportUD, "XRC": bth.TransportXRC,
}

// header is an extension header: its flag and its length in bytes.
type header struct {
	flag bth.Flags
	len  int
}

var headers = map[string]header{
	"RDETH": {bth.HasRDETH, 4}, "DETH": {bth.HasDETH, 8}, "XRCETH": {bth.HasXRCETH, 4}, "RETH": {bth.HasRETH, 16},
	"AtomicETH": {bth.HasAtomicETH, 28}, "AETH": {bth.HasAETH, 4}, "AtomicAck": {bth.HasAtomicAck, 8},
	"Imm": {bth.HasImm, 4}, "IETH": {bth.HasIETH, 4}, "FETH": {bth.HasFETH, 4}, "CNP": {bth.HasCNP, 16},
}

// row is what the specification says of one opcode.
type row struct {
	name    string
	headers []string
	payload bool
}

// specification expands the table to the defined opcodes.
func specification(t *testing.T) map[bth.Opcode]row {
	all := map[bth.Opcode]row{0x81: {"CNP", []string{"CNP"}, false}}
	for line := range strings.Lines(strings.TrimSpace(opcodeTable)) {
		w := strings.Fields(line)
		op := parseHexByte(t, w[0])
		n := slices.IndexFunc(w, func(s string) bool { return services[s] != 0 || s == "RC" })
		name, rest := strings.Join(w[1:n], " "), w[n:]
		ext, payload := rest[len(rest)-2], rest[len(rest)-1] == "payload"
		for _, s := range rest[:len(rest)-2] {
			r := row{s + " " + name, serviceHeaders(s, name), payload}
			if ext != "-" {
				r.headers = append(r.headers, strings.Split(ext, ",")...)
			}
			all[bth.Opcode(services[s])|op] = r
		}
	}
	return all
}

// serviceHeaders are the headers that a service puts before those of RC.
func serviceHeaders(service, operation string) []string {
	response := strings.Contains(operation, "Response") || strings.Contains(operation, "Acknowledge")
	switch {
	case service == "UD":
		return []string{"DETH"}
	case service == "RD" && response:
		return []string{"RDETH"}
	case service == "RD":
		return []string{"RDETH", "DETH"}
	case service == "XRC" && !response:
		return []string{"XRCETH"}
	}
	return nil
}

func TestOpcodeTable(t *testing.T) {
	spec := specification(t)
	require.Equal(t, 25+12+24+2+25+1, len(spec), "RC, UC, RD, UD, XRC, CNP")
	for v := range 256 {
		op := bth.Opcode(v)
		want, defined := spec[op]
		require.Equal(t, defined, op.Known(), "%#02x", v)
		if !defined {
			require.Zero(t, op.HeaderLen(), "%#02x", v)
			require.Zero(t, op.Flags(), "%#02x", v)
			require.Contains(t, op.String(), "reserved")
			continue
		}
		n := 12
		for name, h := range headers {
			has := slices.Contains(want.headers, name)
			require.Equal(t, has, op.Is(h.flag), "%v: %s", op, name)
			if has {
				n += h.len
			}
		}
		require.Equal(t, n, op.HeaderLen(), "%v", op)
		require.LessOrEqual(t, n, bth.MaxHeaderLen)
		require.Equal(t, want.name, op.String())
		require.Equal(t, want.payload, op.Is(bth.Payload), "%v", op)
	}
}

// The flags that say where a packet stands and which way it goes follow from the
// operation's name.
func TestOpcodeFlags(t *testing.T) {
	for op, want := range specification(t) {
		if op == bth.CNP {
			continue
		}
		_, name, _ := strings.Cut(want.name, " ")
		has := func(words ...string) bool {
			return slices.ContainsFunc(strings.Fields(name), func(w string) bool { return slices.Contains(words, w) })
		}
		single := !has("First", "Middle", "Last")
		response := has("Response", "Acknowledge")
		for flag, want := range map[bth.Flags]bool{
			bth.First: has("First") || single, bth.Middle: has("Middle"), bth.Last: has("Last") || single,
			bth.Response: response, bth.Request: !response,
			bth.Send: has("SEND"), bth.Read: has("READ"), bth.Ack: name == "Acknowledge",
			bth.Write:        has("RDMA") && has("WRITE"),
			bth.Atomic:       has("CmpSwap", "FetchAdd") || name == "ATOMIC Acknowledge",
			bth.ConsumesRecv: has("SEND") && (has("First") || single) || has("WRITE") && has("Immediate"),
		} {
			require.Equal(t, want, op.Is(flag), "%v: flag %#x", op, uint32(flag))
		}
	}
}

// Congestion control paces requests and answers with data, of whatever service.
func TestPacedOpcodes(t *testing.T) {
	for _, op := range []bth.Opcode{0x00, 0x0a, 0x0c, 0x0d, 0x10, 0x12, 0x13, 0x14, 0x24, 0x64} {
		require.True(t, op.Paced(), "%v", op)
	}
	for _, op := range []bth.Opcode{bth.RCAcknowledge, bth.CNP, 0x15, 0x1f, 0xff} {
		require.False(t, op.Paced(), "%v", op)
	}
}

func TestOpcodeParts(t *testing.T) {
	require.Equal(t, bth.TransportUD, bth.UDSendOnly.Transport())
	require.Equal(t, bth.RCSendOnly, bth.UDSendOnly.Op())
	require.Equal(t, bth.TransportCNP, bth.CNP.Transport())
	require.Equal(t, "RC reserved opcode 0x18", bth.Opcode(0x18).String())
	require.Equal(t, "transport 0xe0 reserved opcode 0xff", bth.Opcode(0xff).String())
}
