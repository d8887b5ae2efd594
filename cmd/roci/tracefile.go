package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rocinante-rdma/roce/clock"
	"github.com/rocinante-rdma/roce/trace"
)

// traceFile is a capture that a command writes of its own packets.
type traceFile struct {
	*trace.Recorder
	f *os.File
}

func newTraceFile(name string) (*traceFile, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	epoch := time.Now().Add(-time.Duration(clock.Now()))
	return &traceFile{trace.NewRecorder(trace.DefaultBuffer, trace.NewPcapng(f, epoch)), f}, nil
}

// close ends the capture.
func (t *traceFile) close() error {
	if err := errors.Join(t.Recorder.Close(), t.f.Close()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}
