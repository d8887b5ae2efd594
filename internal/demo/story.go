package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
)

// story plays each operation once, with every packet recorded.
type story struct {
	file     *os.File // the capture
	chapters *chapters
	recorder *trace.Recorder
	arena    *arena
}

// beginStory opens the capture and the two ends. Without a name the capture is a
// new file in the folder for temporary ones.
func beginStory(n network, capture string) (s *story, err error) {
	s = &story{chapters: newChapters()}
	if s.file, err = createCapture(capture); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	epoch := time.Now().Add(-time.Duration(clock.Now()))
	s.recorder = trace.NewRecorder(trace.DefaultBuffer, trace.NewPcapng(s.file, epoch), s.chapters)
	ends, err := openPair(n, s.recorder.Device("A"), s.recorder.Device("B"), patient)
	if err != nil {
		return nil, errors.Join(err, s.recorder.Close(), s.file.Close(), dropCapture(s.file.Name(), capture))
	}
	if s.arena, err = newArena(ends, threePackets(ends.pathMTU()), 1); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func createCapture(name string) (*os.File, error) {
	if name == "" {
		return os.CreateTemp("", "roci-demo-*.pcapng")
	}
	return os.Create(name)
}

// dropCapture removes a capture in which nothing is, unless the caller named it.
func dropCapture(name, asked string) error {
	if asked != "" {
		return nil
	}
	return os.Remove(name)
}

// patient has nothing sent again within 4 s: the story is not to tell of packets that
// were repeated because this computer was busy.
var patient = roce.WithRetry(20, roce.DefaultRetryCount, roce.DefaultRNRRetry)

// threePackets is a length of message that has a First, a Middle and a Last
// packet, the last with pad.
func threePackets(mtu int) int { return 2*mtu + mtu/2 + 1 }

// play does an operation and draws its ladder. The ladder is drawn also if the
// operation fails: it shows how far it came.
func (s *story) play(ctx context.Context, o *operation) (ladder string, err error) {
	_, err = s.arena.batch(ctx, o, 1)
	flushErr := s.recorder.Flush()
	ladder, drawErr := s.chapters.cut(s.recorder.Stats())
	if err = errors.Join(err, flushErr, drawErr); err != nil {
		err = fmt.Errorf("%s: %w", o.name, err)
	}
	return ladder, err
}

// end closes both ends and the capture.
func (s *story) end() error {
	var err error
	if s.arena != nil {
		err = s.arena.close()
	}
	return errors.Join(err, s.recorder.Close(), s.file.Close())
}
