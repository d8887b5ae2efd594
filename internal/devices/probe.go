package devices

import (
	"slices"
	"strings"

	"github.com/rocinante-rdma/roce/xdp"
)

// attempts are the ways in which an AF_XDP link can be set up.
var attempts = []struct {
	way     string
	options []xdp.Option
}{
	{"native, copy", []xdp.Option{xdp.Native(), xdp.Copy()}},
	{"generic, copy", []xdp.Option{xdp.Generic(), xdp.Copy()}},
	{"native, zero-copy", []xdp.Option{xdp.Native(), xdp.ZeroCopy()}},
}

// Probe tries AF_XDP links on the device, unless something speaks against them, one
// after another: each attaches an XDP program, takes the interface's queues, sends a
// frame, and gives all back. There is then a verdict for each way, in place of that for
// all.
func (d *Device) Probe() {
	at := slices.IndexFunc(d.Links, func(l Link) bool { return l.Name == "xdp" && l.Verdict == Untried })
	if at < 0 {
		return
	}
	var tried []Link
	for _, a := range attempts {
		tried = append(tried, tryXDP(d.Name, a.way, a.options))
	}
	d.Links = slices.Replace(d.Links, at, at+1, tried...)
}

func tryXDP(device, way string, options []xdp.Option) Link {
	setup, err := xdp.Probe(device, options...)
	if err != nil {
		return Link{Name: "xdp", Way: way, Verdict: Fails, Note: reason(err, "xdp: ", "open "+device+": ", "probe "+device+": ")}
	}
	return Link{Name: "xdp", Way: way, Verdict: Works, Note: strings.TrimPrefix(setup.String(), "XDP "+way+", ")}
}
