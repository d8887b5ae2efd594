package wire

// Port is the UDP destination port of RoCEv2 (IANA roce).
const Port = 4791

// firstSourcePort begins the range that RoCEv2 senders take source ports from.
const firstSourcePort = 0xc000

// FlowLabel is the 20-bit label that stands for a connection without one of its
// own. It is the same from both ends, so both directions take the same path
// (Linux: rdma_calc_flow_label).
func FlowLabel(localQPN, remoteQPN uint32) uint32 {
	v := uint64(localQPN) * uint64(remoteQPN)
	v ^= v >> 20
	v ^= v >> 40
	return uint32(v & 0xfffff)
}

// PortForLabel folds a 20-bit flow label into a UDP source port of the dynamic
// range (Linux: rdma_flow_label_to_udp_sport). Switches hash the port, so it
// decides a flow's path.
func PortForLabel(label uint32) uint16 {
	return uint16(label&0x3fff^label&0xfc000>>14) | firstSourcePort
}

// SourcePort is the UDP source port of a connection between two queue pairs.
// Receivers accept any port: real NICs send CNPs from port 0.
func SourcePort(localQPN, remoteQPN uint32) uint16 {
	return PortForLabel(FlowLabel(localQPN, remoteQPN))
}
