package udp

// Option is an option of [Open].
type Option func(*config)

type config struct{ ownHost bool }

// OwnHost makes the link take packets of its own host only, those that arrive on the
// loopback interface. Packets from the wire are for another link, below the kernel's
// IP; this one drops them in the kernel without a word, and without an ICMP error to
// their sender.
func OwnHost() Option { return func(c *config) { c.ownHost = true } }
