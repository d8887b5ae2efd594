package mad

func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// put24 writes a 24-bit number and the byte behind it.
func put24(b []byte, v uint32, last byte) {
	b[0], b[1], b[2], b[3] = byte(v>>16), byte(v>>8), byte(v), last
}

func bit(set bool, mask byte) byte {
	if set {
		return mask
	}
	return 0
}
