// Package trace records what a device sent and received and why: the tap that the
// engine feeds after the fact, the recorder, the pcapng writer with a comment per
// packet, the ladder and JSON lines.
//
// It uses the standard library only; reading foreign captures is package
// trace/decode.
package trace
