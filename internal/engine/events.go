package engine

import "github.com/rocinante-rdma/roce/transport"

// happening is an event that its object's owner has not been told of.
type happening struct {
	tell func(transport.Event)
	kind transport.Event
}

// happen notes an event for tell, unless that is nil.
func (s *Shard) happen(tell func(transport.Event), kind transport.Event) {
	if tell != nil {
		s.happenings = append(s.happenings, happening{tell, kind})
	}
}

// tellEvents tells the owners of the turn's events, after its completions are
// visible: who hears that a queue pair took its last receive finds that receive's
// completion. It is called under the lock, so the owners neither block nor call back.
func (s *Shard) tellEvents() {
	for _, h := range s.happenings {
		h.tell(h.kind)
	}
	s.happenings = s.happenings[:0]
}
