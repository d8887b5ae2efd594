package udp

// Option is an option of [Open].
type Option func(*config)

type config struct {
	ownHost bool
	receive int // bytes
}

// OwnHost makes the link take packets of its own host only, those that arrive on the
// loopback interface. Packets from the wire are for another link, below the kernel's
// IP; this one drops them in the kernel without a word, and without an ICMP error to
// their sender.
func OwnHost() Option { return func(c *config) { c.ownHost = true } }

// ReceiveBuffer sets the socket's receive buffer, in bytes as SO_RCVBUF takes them:
// the kernel doubles them, for what it stores beside a packet. The default is 8 MiB, or
// what the kernel grants; every socket of a program that asks for nothing has 104 KiB.
func ReceiveBuffer(bytes int) Option { return func(c *config) { c.receive = bytes } }
