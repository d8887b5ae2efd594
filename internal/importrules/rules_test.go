package importrules

import (
	"slices"
	"strings"
)

const module = "github.com/rocinante-rdma/roce"

// A rule forbids imports to some packages. Packages are named relative to the
// module ("bth", "transport/rc", "." for the root), imports as in Go files, ours
// with a leading "./" in place of the module's path.
type rule struct {
	name   string
	reason string

	applies  set
	tests    bool // whether it binds test files too
	forbids  set
	witness  string // an import that the rule must forbid
	innocent string // an import that it must allow
}

var rules = []rule{
	{
		name:     "protocol packages are pure",
		reason:   "they run on every system, in virtual time, and do what their arguments say: no system, no socket, no log, no randomness",
		applies:  among(protocol...),
		forbids:  under("syscall", "golang.org/x/sys", "os", "net", "log", "math/rand", "crypto/rand").except("net/netip"),
		witness:  "golang.org/x/sys/unix",
		innocent: "net/netip",
	},
	{
		name:     "protocol packages do not reach up",
		reason:   "the engine joins the protocol to links, and the facade shows it to the user",
		applies:  among(protocol...),
		forbids:  under("./link", "./internal/engine", "./xdp", "./bpf", "./simnet").and("./."),
		witness:  "./internal/engine",
		innocent: "./bth",
	},
	{
		name:     "a transport sees BTH and payload only",
		reason:   "Ethernet, IP, UDP and the ICRC are the engine's and the links'",
		applies:  under("transport"),
		forbids:  under("./wire"),
		witness:  "./wire",
		innocent: "./bth",
	},
	{
		name:     "the MAD machine is on its own",
		reason:   "management datagrams need nothing of the stack but BTH numbers",
		applies:  under("cm/mad"),
		forbids:  under("./").except("./bth"),
		witness:  "./qp",
		innocent: "./bth",
	},
	{
		name:     "links know no queue pair",
		reason:   "a link moves frames, so that each can be replaced and tested alone",
		applies:  under("link", "xdp", "bpf", "simnet", "fault"),
		forbids:  under("./transport", "./qp", "./mr", "./cq", "./internal/engine"),
		witness:  "./transport/rc",
		innocent: "./wire",
	},
	{
		name:     "only auto knows several links",
		reason:   "who wants one link should not build the others",
		applies:  among("link", "link/udp", "link/raw", "xdp", "bpf", "simnet", "fault"),
		forbids:  under("./link/udp", "./link/raw", "./link/auto", "./xdp"),
		witness:  "./link/auto",
		innocent: "./link",
	},
	{
		name:     "the facade brings no link",
		reason:   "the caller chooses one; what needs Linux must not come with the root package",
		applies:  among("."),
		forbids:  under("./link/udp", "./link/raw", "./link/auto", "./xdp", "./bpf", "./simnet"),
		witness:  "./link/udp",
		innocent: "./link",
	},
	{
		name:     "gopacket stays at the edge",
		reason:   "its decoders allocate; who embeds the stack should not build them",
		applies:  all.except("bth/layers", "trace/decode", "cmd", "interop"),
		forbids:  under("github.com/google/gopacket"),
		witness:  "github.com/google/gopacket/layers",
		innocent: "fmt",
	},
	{
		name:     "Prometheus comes with metrics only",
		reason:   "who embeds the stack and has no Prometheus should not build it",
		applies:  all.except("metrics"),
		forbids:  under("github.com/prometheus"),
		witness:  "github.com/prometheus/client_golang/prometheus",
		innocent: "net/http",
	},
	{
		name:     "curves are drawn in one place",
		reason:   "how a plot looks should be decided once, and who embeds the stack should not build it",
		applies:  all.except("internal/plots"),
		forbids:  under("gonum.org"),
		witness:  "gonum.org/v1/plot/vg",
		innocent: "./internal/plots",
	},
	{
		name:     "only programs import metrics",
		reason:   "the stack does not depend on how it is watched",
		applies:  all.except("cmd", "examples"),
		forbids:  under("./metrics"),
		witness:  "./metrics",
		innocent: "./trace",
	},
	{
		name:     "test libraries are for tests",
		reason:   "who embeds the stack should not build them",
		applies:  all.except("bth/bthtest", "link/linktest", "internal/netns/netnstest"),
		forbids:  under("github.com/stretchr/testify", "pgregory.net/rapid"),
		witness:  "github.com/stretchr/testify/require",
		innocent: "testing",
	},
	{
		name:     "test helpers are for tests",
		reason:   "package testing and its flags have no place in a user's program",
		applies:  all.except("internal/testenv", "internal/fuzzing", "internal/ledger", "bth/bthtest", "link/linktest", "internal/netns/netnstest", "interop"),
		forbids:  under("./internal/testenv", "./internal/fuzzing", "./internal/ledger", "./bth/bthtest", "./link/linktest", "./internal/netns/netnstest"),
		witness:  "./internal/testenv",
		innocent: "./bth",
	},
	{
		name:     "no C",
		reason:   "the stack is pure Go: it cross-compiles, and a trace of it is complete",
		applies:  all,
		tests:    true,
		forbids:  under("C"),
		witness:  "C",
		innocent: "unsafe",
	},
}

// protocol are the packages of layers 1 and 2 and the transports, which decide
// what goes over the wire.
var protocol = []string{
	"bth", "wire", "mr", "cq", "qp",
	"transport", "transport/rc", "transport/uc", "transport/ud",
	"congestion", "congestion/ecn", "congestion/ecn/theory", "cm/mad",
}

// set is a set of packages or imports.
type set func(path string) bool

var all set = func(string) bool { return true }

// among holds exactly these.
func among(paths ...string) set {
	return func(p string) bool { return slices.Contains(paths, p) }
}

// under holds these and everything in their folders.
func under(roots ...string) set {
	return func(p string) bool {
		return slices.ContainsFunc(roots, func(root string) bool {
			return p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/")
		})
	}
}

func (s set) except(roots ...string) set {
	out := under(roots...)
	return func(p string) bool { return s(p) && !out(p) }
}

func (s set) and(path string) set {
	return func(p string) bool { return s(p) || p == path }
}
