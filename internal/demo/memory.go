package demo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/rocinante-rdma/roce"
)

// guard is the number of bytes before, between and behind the slots of a memory.
// Nothing may ever change there.
const guard = 64

// word is the size of what atomics work on, in bytes.
const word = 8

// memory is a registered region of one end: slots of a size, each between guard
// bytes. Beside it stands what it has to hold.
type memory struct {
	owner  string
	region *roce.MR
	want   []byte
	size   int // of a slot
	stride int // from slot to slot
	fresh  *rand.ChaCha8
}

func newMemory(s *side, size, slots int) (*memory, error) {
	m := &memory{owner: s.name, size: size, stride: (size+word-1)/word*word + guard}
	m.fresh = rand.NewChaCha8([32]byte([]byte(s.name + " holds other bytes than its peer."[:31])))
	buf := make([]byte, guard+slots*m.stride)
	m.fresh.Read(buf) // never fails
	m.want = bytes.Clone(buf)
	var err error
	m.region, err = s.pd.RegMR(buf, roce.AccessLocalWrite|roce.AccessRemoteWrite|roce.AccessRemoteRead|roce.AccessRemoteAtomic)
	return m, err
}

func (m *memory) at(slot int) int { return guard + slot*m.stride }

// sge names the first n bytes of a slot for the local device.
func (m *memory) sge(slot, n int) roce.SGE { return m.region.SGE(m.at(slot), n) }

// remote names a slot for the peer.
func (m *memory) remote(slot int) roce.Remote { return m.region.Remote().Slice(m.at(slot), m.size) }

// expected is what a slot has to hold, to be changed as the operations would.
func (m *memory) expected(slot int) []byte { return m.want[m.at(slot):][:m.size] }

// refill gives a slot bytes that it never had.
func (m *memory) refill(slot int) {
	want := m.expected(slot)
	m.fresh.Read(want) // never fails
	copy(m.region.Bytes()[m.at(slot):], want)
}

// expectedWord is the 8-byte word that a slot begins with.
func (m *memory) expectedWord(slot int) uint64 { return binary.NativeEndian.Uint64(m.expected(slot)) }

func (m *memory) expectWord(slot int, v uint64) { binary.NativeEndian.PutUint64(m.expected(slot), v) }

// setWord sets the word that a slot begins with.
func (m *memory) setWord(slot int, v uint64) {
	m.expectWord(slot, v)
	binary.NativeEndian.PutUint64(m.region.Bytes()[m.at(slot):], v)
}

// check compares all of the memory with what it has to hold.
func (m *memory) check() error {
	got := m.region.Bytes()
	if bytes.Equal(got, m.want) {
		return nil
	}
	at := 0
	for got[at] == m.want[at] {
		at++
	}
	return &MismatchError{Owner: m.owner, Place: m.place(at), Got: got[at], Want: m.want[at]}
}

// place says where an offset lies.
func (m *memory) place(at int) string {
	slot, off := (at-guard)/m.stride, (at-guard)%m.stride
	switch {
	case at < guard:
		return fmt.Sprintf("guard byte %d before the first slot", at)
	case off < m.size:
		return fmt.Sprintf("byte %d of slot %d", off, slot)
	}
	return fmt.Sprintf("guard byte %d behind slot %d", off-m.size, slot)
}

// MismatchError is the error of memory that does not hold what it has to.
type MismatchError struct {
	Owner     string // A or B
	Place     string
	Got, Want byte
}

// Error says where, and what is there.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the memory of %s is wrong: %s is 0x%02x and has to be 0x%02x", e.Owner, e.Place, e.Got, e.Want)
}
