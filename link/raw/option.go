package raw

import "net/netip"

// Option is an option of [Open].
type Option func(*config)

type config struct {
	addrs         []netip.Addr
	noSuperFrames bool
}

// Addrs restricts the link to some addresses of the interface, the default first.
// Without it all usable ones are the link's, in the order of the GID table.
func Addrs(addrs ...netip.Addr) Option { return func(c *config) { c.addrs = addrs } }

// NoSuperFrames makes the link send single frames, as it does by itself where the
// kernel is older than Linux 6.2: for peers on the same host that cannot take
// super-frames, such as an AF_XDP program in generic mode.
func NoSuperFrames() Option { return func(c *config) { c.noSuperFrames = true } }
