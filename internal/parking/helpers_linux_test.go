package parking

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// line is one direction between two queues: what goes in at one end is readable at
// the other.
type line struct{ in, out int }

func newLine(t testing.TB) line {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return line{fds[0], fds[1]}
}

func newLines(t testing.TB, n int) []line {
	t.Helper()
	lines := make([]line, n)
	for i := range lines {
		lines[i] = newLine(t)
	}
	return lines
}

// put sends a datagram of one byte.
func (l line) put() {
	if _, err := unix.Write(l.in, []byte{1}); err != nil {
		panic(err)
	}
}

// take receives one, if there is one.
func (l line) take() bool {
	var b [1]byte
	n, err := unix.Read(l.out, b[:])
	return err == nil && n == 1
}

// spotAt opens a Spot that watches the ends of lines. It is closed before they are.
func spotAt(t testing.TB, lines ...line) *Spot {
	t.Helper()
	s, err := New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, l := range lines {
		require.NoError(t, s.Watch(l.out))
	}
	return s
}

// silent reports whether nothing is ready in the epoll.
func (s *Spot) silent(t testing.TB) bool {
	t.Helper()
	n, errno := epollPoll(s.epoll, s.ready[:])
	require.Zero(t, errno)
	return n == 0
}
