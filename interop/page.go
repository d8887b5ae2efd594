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
}

// Page is the page that the results make.
func Page(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteString(`# Against the Linux kernel's rdma_rxe

The stack (roce) was run against rdma_rxe (rxe) of Linux kernels in a virtual machine. Each line
counts cells, all of which passed; its direction is from the requester to the responder. In each
suite every packet on the wire had a good ICRC, and tshark called none malformed. Packets sent
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
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s | %s |\n", r.Kernel, r.Case, r.Passed, r.Packets, r.Retransmits, r.Date, r.Commit)
		}
	}
	return b.Bytes()
}
