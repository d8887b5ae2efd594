package pingpong

import "fmt"

// pageSize is the distance of the bytes that the tool's -c looks at.
const pageSize = 4096

// fillByte is what the tool's messages consist of.
const fillByte = 0x7b

// What can be checked depends on what the tool does: its client sends the same
// buffer again and again, in which -c sets the first byte of each page to zero; its
// server sends from the buffer into which it receives, so that it returns what it
// got, and -c makes it look for these zeros when all is over. Its client looks at
// nothing.
//
// So our server has one buffer, and looks for the zeros; and our client with -c
// sends other data each time and compares what returns. Only its last message has
// the zeros that the tool's server looks for.

// fillPlain sets what a client without -c sends, and a server's buffer is at first.
func fillPlain(b []byte) {
	for i := range b {
		b[i] = fillByte
	}
}

// fillRound sets what a client with -c sends in a round, from 0 on: in each byte
// other than in the round before.
func fillRound(b []byte, round int, last bool) {
	for i := range b {
		b[i] = byte(round + i + i>>8*31)
	}
	if last {
		for i := 0; i < len(b); i += pageSize {
			b[i] = 0
		}
	}
}

// checkPages is the server's check at the end.
func checkPages(b []byte) error {
	for i := 0; i < len(b); i += pageSize {
		if b[i] != 0 {
			return fmt.Errorf("invalid data in page %d: its first byte is 0x%02x, and a client with -c ends with zero there; give -c to both ends", i/pageSize, b[i])
		}
	}
	return nil
}

// checkEcho is the client's check in each round.
func checkEcho(sent, returned []byte, round int) error {
	for i := range sent {
		if sent[i] != returned[i] {
			return fmt.Errorf("message %d came back changed: byte %d is 0x%02x and was 0x%02x; if the peer does not return what it gets, do without -c", round, i, returned[i], sent[i])
		}
	}
	return nil
}
