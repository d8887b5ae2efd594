package interop

import (
	"bytes"
	"fmt"
	"slices"
)

// suites are the kinds of tests, in the page's order, and what each proves.
var suites = []struct{ name, title, proves string }{
	{"opcodes", "Operations", `Every operation of the reliable connection in lengths of 0, 1, 3, 1023, 1024, 1025, 4097 and
65537 bytes with a path MTU of 1024, and the atomics. Completions and memory of both ends were
what they must be, and in either direction the wire carried each opcode from 0x00 to 0x14.`},
	{"failures", "Failures", `What must fail, failed as it must: wrong keys, ranges and rights, messages too long, receivers
not ready, peers gone. The syndromes on the wire, the completions of both ends and the states of
both queue pairs were held against the specification, and where the kernel differs from it,
against what the kernel is known to do.`},
	{"loss", "Loss", `The first, a middle or the last packet of requests or responses was lost, of each kind of
operation, and each single one of a series of all operations; packets were lost again and again;
all requests or all responses were doubled. All data arrived unchanged, and every message and
atomic was executed once.`},
	{"udp", "Over a UDP socket", `Operations over link/udp, whose socket does not show the IPv4 identification that the ICRC covers:
the trace says that the ICRC was inferred until the identification is an expected one, and never
over IPv6, which has none.`},
	{"raw", "Over AF_PACKET", `The suites above with link/raw on a tap device, whose other end is the wire.`},
	{"xdp", "Over AF_XDP", `The same with xdp, its program in the driver.`},
	{"xdp generic", "Over AF_XDP behind the driver", `The same with the program behind the driver.`},
	{"zero-copy", "Over AF_XDP without copying", `The stack in a guest on virtio_net, whose driver reads and writes the link's memory, with a path
MTU of up to 2048: ping-pongs of 1, 4096 and 65536 bytes in both roles and over both protocols,
against the stack on the host over another link and against rxe in a second guest. The link reported
zero-copy, and the capture of the cable had every message unchanged.`},
	{"inside", "Links on the guests' kernels", `The links' conformance suites on these kernels, and xdp's dealings with the limit of locked memory.
Linux 6.1 has no UDP segmentation on AF_PACKET sockets and no AF_XDP packets of several chunks: there
the links said so, and did without.`},
	{"stacked", "VLANs and bonds", `In a guest. A connection between addresses on a VLAN took packets of that VLAN alone, and sent its
own with the tag and the priority of its service level; packets of the largest size, tagged, passed
whole; xdp dropped and counted a packet whose tag the kernel at the other end of a veth had left
beside the frame. On a bond, where xdp runs behind the drivers, only the master has addresses, and
writes went on by retries after the active cable broke.`},
}

// Page is the page that the results make.
func Page(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteString(`# Against the Linux kernel's rdma_rxe

The stack (roce) was run against rdma_rxe (rxe) of Linux kernels in a virtual machine. Each line
counts cells, all of which passed; its direction is from the requester to the responder. Every
packet that a line counts had a good ICRC, and tshark called none malformed. Packets sent
again where nothing was lost on purpose are recorded, and no failure: an emulated machine is slow
to answer at times. ` + "`roci pingpong`" + ` against rdma-core's tool has a page of its own:
[interop-pingpong.md](interop-pingpong.md).

` + "`make interop-full`" + ` writes the results to interop.jsonl, and ` + "`go run ./interop/cmd/matrix`" + ` makes
this page from them.
`)
	for _, s := range suites {
		of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Suite != s.name })
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.proves)
		b.WriteString("| kernel | case | cells passed | packets | sent again | date | commit |\n|---|---|---|---|---|---|---|\n")
		for _, r := range of {
			packets, again := fmt.Sprint(r.Packets), fmt.Sprint(r.Retransmits)
			if r.Packets == 0 {
				packets, again = "–", "–"
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s |\n", r.Kernel, r.Case, r.Passed, packets, again, r.Date, r.Commit)
		}
	}
	return b.Bytes()
}
