//go:build linux

package guest

import (
	"bufio"
	"errors"
	"os"
	"sync"

	"github.com/rocinante-rdma/roce/internal/pcap"
)

// snapLen keeps whole frames: no super-frame is longer.
const snapLen = 1 << 18

// recording is a capture file that is being written.
type recording struct {
	*pcap.Writer
	close func() error // the first call counts
}

func newRecording(path string) (*recording, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	b := bufio.NewWriter(f)
	w, err := pcap.NewWriter(b, snapLen)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &recording{w, sync.OnceValue(func() error { return errors.Join(w.Close(), b.Flush(), f.Close()) })}, nil
}
