package mad

import (
	"bytes"
	"testing"

	"github.com/rocinante-rdma/roce/internal/fuzzing"
)

// fuzzParse breaks if what Parse accepts is not a fixed point of Put and Parse.
func fuzzParse(b []byte) {
	h, m, err := Parse(b)
	if err != nil {
		return
	}
	first, second := make([]byte, Size), make([]byte, Size)
	Put(first, h, m)
	h, m, err = Parse(first)
	if err != nil {
		panic("what Put wrote does not parse: " + err.Error())
	}
	Put(second, h, m)
	if !bytes.Equal(first, second) {
		panic("a datagram changes when it is encoded again")
	}
}

func parseSeeds() (seeds [][]byte) {
	for a := AttrREQ; a <= AttrAPR; a++ {
		seeds = append(seeds, datagram(a, nil))
	}
	return seeds
}

func FuzzParse(f *testing.F) {
	for _, s := range parseSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzParse(b) })
}

func TestDriveParse(t *testing.T) { fuzzing.Drive(t, "mad.FuzzParse", parseSeeds(), fuzzParse) }
