package decode

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Format is how packets are printed.
type Format uint8

// Formats.
const (
	List      Format = iota // one line per packet
	Ladder                  // columns for the ends, arrows for the packets
	JSONLines               // one JSON object per packet and line
)

// Options choose what to print of a capture, and how.
type Options struct {
	Filter Filter
	Format Format
}

// printer writes packets in one format.
type printer interface {
	packet(p *Packet) error
	close(s *Summary) error
}

// Print reads the capture file twice, once to learn which queue pairs belong
// together and once to print. A damaged file is printed up to the damage; the error
// then tells of it.
func Print(w io.Writer, name string, o Options) error {
	if err := checkFile(name); err != nil {
		return err
	}
	return printCapture(w, func() (*Reader, error) { return Open(name) }, o)
}

// source opens a capture once more.
type source func() (*Reader, error)

func printCapture(w io.Writer, open source, o Options) error {
	s, pairs, err := survey(open)
	if s == nil {
		return err
	}
	out := newPrinter(w, o.Format, s)
	notes := NewAnnotator(pairs)
	err = each(open, func(_ *Record, p *Packet) error {
		if p == nil {
			return nil
		}
		notes.Annotate(p)
		if !o.Filter.Takes(p) {
			return nil
		}
		s.show(p)
		return out.packet(p)
	})
	s.Lost, s.Congestion = notes.Lost(), notes.Congestion()
	return errors.Join(err, out.close(s))
}

// checkFile refuses what cannot be read twice.
func checkFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("opening the capture: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file, and a capture is read twice; save it to a file first", name)
	}
	return nil
}

// survey learns what must be known before the first packet is printed. The summary
// is nil if the file is no capture.
func survey(open source) (*Summary, *Pairs, error) {
	s, pairs := newSummary(), NewPairs()
	err := each(open, func(rec *Record, p *Packet) error {
		if s.Records == 0 {
			s.Start = rec.Time
		}
		s.Records++
		if !rec.Link.Supported() {
			s.Foreign++
		}
		if p != nil {
			s.Packets++
			s.ICRC[p.ICRC]++
			pairs.Learn(p)
		}
		return nil
	})
	if err != nil && s.Records == 0 {
		return nil, nil, err
	}
	s.Connections = pairs.Connections()
	return s, pairs, nil
}

// each calls f for every record; p is nil if the record holds no RoCEv2 packet.
func each(open source, f func(rec *Record, p *Packet) error) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(&rec, Decode(&rec)); err != nil {
			return err
		}
	}
}

func newPrinter(w io.Writer, f Format, s *Summary) printer {
	switch f {
	case Ladder:
		return newLadder(w, s)
	case JSONLines:
		return newJSONLines(w, s)
	default:
		return newList(w, s)
	}
}
