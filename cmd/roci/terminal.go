package main

import (
	"fmt"
	"os"
)

// clearLine goes back to the beginning of a terminal's line, and empties it.
const clearLine = "\r\x1b[K"

// liveLine says on a terminal how a long run goes on: over what it said before, of which ""
// leaves nothing. Where standard error is no terminal it says nothing.
func liveLine(format string, args ...any) {
	if isTerminal(os.Stderr) {
		fmt.Fprintf(os.Stderr, clearLine+format, args...)
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
