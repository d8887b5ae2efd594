//go:build linux

package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/xdp"
)

// openInterface opens a link on an interface of the calling thread's namespace.
type openInterface func(ifname string) (link.Link, error)

func openRaw(ifname string) (link.Link, error) { return raw.Open(ifname) }

// openXDP opens what xdp chooses, or as the options say.
func openXDP(options ...xdp.Option) openInterface {
	return func(ifname string) (link.Link, error) { return xdp.Open(ifname, options...) }
}

// openIn opens a link on an interface of a namespace.
func openIn(t *testing.T, n *netns.Netns, ifname string, open openInterface) (l link.Link) {
	t.Helper()
	require.NoError(t, n.Do(func() (err error) {
		l, err = open(ifname)
		return err
	}))
	return l
}

// await sleeps on a queue until what is looked for is there, which packets bring.
func await(t *testing.T, q link.Queue, there func() bool) {
	t.Helper()
	for end := q.Now().Add(stepTimeout); !there(); {
		require.Less(t, q.Now(), end, "it never came")
		q.Arm(end, link.Interest{Rx: true})
		q.Park()
		q.Disarm()
	}
}
