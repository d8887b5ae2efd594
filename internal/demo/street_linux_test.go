package demo

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/link"
	"github.com/rocinante-rdma/roce/link/raw"
	"github.com/rocinante-rdma/roce/link/udp"
	"github.com/rocinante-rdma/roce/xdp"
)

// Links on a network interface tell the same story, and nothing of the veth pair that
// was made for them is left.
func TestEveryOperationOverAVethPair(t *testing.T) {
	testenv.Need(t, testenv.Root, testenv.Netns)
	for name, open := range map[string]OpenLink{
		"udp": func(_ string, a netip.Addr) (link.Link, error) { return udp.Open(a) },
		"raw": func(dev string, a netip.Addr) (link.Link, error) { return raw.Open(dev, raw.Addrs(a)) },
		"xdp": func(dev string, a netip.Addr) (link.Link, error) { return xdp.Open(dev, xdp.Addrs(a)) },
	} {
		t.Run(name, func(t *testing.T) {
			o, p := quick(t)
			o.Network, o.Link = name, open
			r := requireStory(t, o, p)
			require.Zero(t, heldNamespaces(t))
			require.Equal(t, 4096, r.PathMTU)
			require.Equal(t, "10.9.0.1 10.9.0.2", r.A.String()+" "+r.B.String())
		})
	}
}

// A link that does not open ends the demo with its error.
func TestLinkThatDoesNotOpen(t *testing.T) {
	testenv.Need(t, testenv.Root, testenv.Netns)
	failure := errors.New("there is no such link")
	o, p := quick(t)
	o.Link = func(dev string, _ netip.Addr) (link.Link, error) { return nil, failure }
	_, err := run(t.Context(), o, p)
	require.ErrorIs(t, err, failure)
	require.Zero(t, heldNamespaces(t))
}

// heldNamespaces counts the network namespaces that the process has open: the veth
// pair's, and those of links that were not closed.
func heldNamespaces(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		if to, _ := os.Readlink(f); strings.HasPrefix(to, "net:[") {
			n++
		}
	}
	return n
}
