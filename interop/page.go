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
all requests or all responses were doubled. A request or a response, and some packets of a series,
came behind two later ones, or 5 ms late, or with a flipped bit, which the ICRC gave away. All data
arrived unchanged, and every message and atomic was executed once. One thing the kernel was spared:
if READ data overtake an acknowledgement of what was before the READ, Linux 7.3 refuses the rest of
them, and goes to ERR with a completion that says that the READ succeeded.`},
	{"goodput", "Goodput under loss", `32 MiB written in messages of 64 KiB, 16 under way, with a path MTU of 1024, over IPv4, while each
packet was lost by chance, with the same probability in both directions and for each pair of ends: our
stack on the host, over link/raw, and rxe in two guests. The megabytes per second are those of an
emulated machine: compare them with each other only.`},
	{"windows", "Windows, invalidation and chosen addresses", `WRITEs, READs and atomics through windows of type 2, zero-based ones too; SENDs with invalidate of
0, 1, 1024 and 4097 bytes, also with the packet that invalidates lost, or its acknowledgement; keys
that were invalidated, given up for others, or bound for another connection; READs and WRITEs whose
key is invalidated under them; regions at addresses of the owner's choice, and our own memory beyond
4 GiB of its region. Where the kernel is looser than the specification, it was held against that:

- of what comes through a window it checks the region's range, not the window's;
- a SEND may invalidate another connection's window;
- a SEND that names a key which it cannot invalidate is acknowledged, though it fails;
- the receiver's completion has the flag IBV_WC_IP_CSUM_OK in place of IBV_WC_WITH_INV.

It was never asked to invalidate a window that was not bound, for which it is not prepared.`},
	{"queues", "Shared receive queues, drained queues and credits", `SENDs over three connections to one shared receive queue, with its limit's event and nothing
lost while it was empty; WRITEs drained in SQD, also with a packet lost, the peer answered meanwhile,
and the rest sent back in RTS; another traffic class in SQD; credits told to the kernel, which takes
no notice, and none told by it. The kernel, back in RTS, goes on with what waits only when something
is posted.`},
	{"ecn", "Marks and congestion notifications", `All operations over connections for which both ends' programs asked for DSCP 26 and ECT(0), on a
way that marked every packet which it might: without DCQCN at our end, with it, and with CNPs sent.
The DSCP stayed, either way. Our requests and READ responses were ECT(0) with DCQCN and Not-ECT
without, our acknowledgements and CNPs always Not-ECT. Each marked packet of the kernel's was counted,
and its data were answered by CNPs, no two of a connection within 50 µs, where that was asked for;
the kernel dropped them, and no other counter of its moved. Of marks it took no notice. All data
arrived unchanged, and nothing was sent again.`},
	{"udp", "Over a UDP socket", `Operations over link/udp, whose socket does not show the IPv4 identification that the ICRC covers:
the trace says that the ICRC was inferred until the identification is an expected one, and never
over IPv6, which has none.`},
	{"raw", "Over AF_PACKET", `Operations, failures and losses as above, with link/raw on a tap device, whose other end is the wire.`},
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
			what := r.Case
			if r.Goodput != 0 {
				what += fmt.Sprintf(": %.1f MB/s", r.Goodput)
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s |\n", r.Kernel, what, r.Passed, packets, again, r.Date, r.Commit)
		}
	}
	return b.Bytes()
}
