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
// after another: each attaches an XDP program and takes the interface's queues, and
// gives both back. There is then a verdict for each way, in place of that for all.
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
	tried := Link{Name: "xdp", Way: way, Verdict: Fails}
	l, err := xdp.Open(device, options...)
	if err != nil {
		tried.Note = reason(err, "xdp: ", "open "+device+": ")
		return tried
	}
	setup := l.Setup().String()
	if err := l.Close(); err != nil {
		tried.Note = "it opened and did not close: " + err.Error()
		return tried
	}
	tried.Verdict, tried.Note = Works, strings.TrimPrefix(setup, "XDP "+way+", ")
	return tried
}
