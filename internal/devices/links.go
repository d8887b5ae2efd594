package devices

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rocinante-rdma/roce/internal/hostnet"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
)

// tryLinks finds out which links work on an interface.
func tryLinks(i *hostnet.Interface, table []hostnet.GID) []Link {
	u, taken := tryUDP(table)
	links := []Link{u, tryRaw(i.Name), considerXDP(i)}
	for n := range links[1:] {
		if l := &links[1+n]; taken && l.Verdict != Fails {
			l.note("not towards addresses of this host, since UDP port 4791 is taken (see udp)")
		}
	}
	return links
}

// note adds something to know.
func (l *Link) note(s string) {
	if l.Note != "" {
		s = l.Note + "; " + s
	}
	l.Note = s
}

// tryUDP opens a UDP link on each usable address, and says whether somebody else has
// the port of one.
func tryUDP(table []hostnet.GID) (l Link, taken bool) {
	usable, err := hostnet.Usable(table)
	if err != nil {
		return Link{Name: "udp", Verdict: Fails, Note: err.Error()}, false
	}
	var works, fails []string
	for _, g := range usable {
		address := g.Zoned()
		opened, err := udp.Open(address)
		if err == nil {
			err = opened.Close()
		}
		if err != nil {
			fails = append(fails, reason(err, "udp: "))
			taken = taken || errors.Is(err, udp.ErrPortInUse)
			continue
		}
		works = append(works, address.String())
	}
	switch {
	case len(fails) == 0:
		return Link{Name: "udp", Verdict: Works}, taken
	case len(works) == 0:
		return Link{Name: "udp", Verdict: Fails, Note: strings.Join(fails, "; ")}, taken
	}
	return Link{Name: "udp", Verdict: Works, Note: fmt.Sprintf("only on %s; %s", strings.Join(works, ", "), strings.Join(fails, "; "))}, taken
}

// tryRaw opens an AF_PACKET link, which the interface and its traffic do not notice.
func tryRaw(name string) Link {
	l, err := raw.Open(name)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return Link{Name: "raw", Verdict: Fails, Note: reason(err, "raw: ", "open "+name+": ")}
	}
	return Link{Name: "raw", Verdict: Works}
}

// reason is an error's text without what the reader sees beside it.
func reason(err error, prefixes ...string) string {
	s := err.Error()
	for _, p := range prefixes {
		s = strings.TrimPrefix(s, p)
	}
	return s
}
