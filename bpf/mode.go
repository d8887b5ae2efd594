package bpf

// Mode is where in the kernel an XDP program runs. The words are ip-link's.
type Mode uint8

// Modes.
const (
	Auto    Mode = iota // Native where the driver has it, else Generic
	Native              // "xdpdrv": in the driver, before there is a socket buffer
	Generic             // "xdpgeneric": behind the driver, on socket buffers
)

func (m Mode) String() string {
	switch m {
	case Native:
		return "native"
	case Generic:
		return "generic"
	default:
		return "auto"
	}
}
