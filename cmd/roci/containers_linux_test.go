package main

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/netns"
	"github.com/rocinante-rdma/roce/internal/netns/netnstest"
)

// E03: two namespaces, and in each a process without any privilege, as in containers:
// the default link needs none.
func TestTwoContainers(t *testing.T) {
	for _, family := range []string{"IPv4", "IPv6"} {
		t.Run(family, func(t *testing.T) {
			s := netnstest.NewStreet(t, netns.Options{MTU: 4200})
			a, b := s.A.IPv4.String(), s.B.IPv4.String()
			if family == "IPv6" {
				a, b = s.A.IPv6.String(), s.B.IPv6.String()
			}
			const load = " -c -n 100 -s 65536 -m 4096"
			server := startAsUser(t, s.B, "pingpong --addr "+b+load)
			out, err := asUser(t, s.A, "pingpong --addr "+a+load+" "+b)
			require.NoError(t, err, out)
			require.Contains(t, out, "link:           udp "+a)
			require.Contains(t, out, "\n100 iters in ")
			err = server.Wait()
			require.NoError(t, err, server.said.String())
		})
	}
}

// userProcess is a running roci of an ordinary user.
type userProcess struct {
	*exec.Cmd
	said bytes.Buffer // on stderr
}

// startAsUser starts roci on a host as an ordinary user without capabilities, and returns
// when it has printed a line.
func startAsUser(t *testing.T, h *netns.Host, args string) *userProcess {
	t.Helper()
	p := &userProcess{Cmd: userCommand(t, args)}
	p.Stderr = &p.said
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.Start(p.Cmd))
	lines := bufio.NewReader(out)
	if first, err := lines.ReadString('\n'); err != nil {
		_ = p.Wait() // until all that it said is in
		t.Fatal(err, first, p.said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // so that it never has to wait for a reader
	return p
}
