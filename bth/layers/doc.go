// Package layers teaches gopacket the headers of RoCEv2. Importing it is enough:
// UDP port 4791 then decodes to a BTH layer, one layer per extension header, the
// payload (or MAD and CM, for datagrams to queue pair 1) and the ICRC.
//
//	import _ "github.com/rocinante-rdma/roce/bth/layers"
//
// Bytes that start with a BTH decode with [LayerTypeBTH] as the first layer.
//
// The layers are for reading. They are cut and filled by package bth, which also
// builds packets; there is no second codec here.
package layers
