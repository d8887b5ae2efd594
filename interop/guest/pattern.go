//go:build linux

package guest

import "encoding/binary"

// Pattern returns n bytes that depend on the seed only: the outputs of the
// generator splitmix64 started at the seed, each as eight bytes, low byte
// first. PeerRegion.Fill writes the same bytes in the guest.
func Pattern(seed uint64, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b = binary.LittleEndian.AppendUint64(b, z^z>>31)
	}
	return b[:n]
}
