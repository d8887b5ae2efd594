package roce_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// footprint is what this process holds.
type footprint struct {
	heap        uint64 // bytes in use
	goroutines  int
	descriptors int // -1 where the system does not tell
}

func measure() footprint {
	f := footprint{heap: heapInUse(), goroutines: runtime.NumGoroutine(), descriptors: -1}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.descriptors = len(list)
	}
	return f
}

func (f footprint) String() string {
	return fmt.Sprintf("%d KiB of heap, %d goroutines, %d descriptors", f.heap>>10, f.goroutines, f.descriptors)
}

// requireFlat fails if more is held than before; of the heap, more than slack bytes.
func (f footprint) requireFlat(t *testing.T, before footprint, slack uint64) {
	t.Helper()
	require.LessOrEqual(t, f.heap, before.heap+slack, "memory is not given back: %s, before %s", f, before)
	require.LessOrEqual(t, f.goroutines, before.goroutines, "goroutines are left: %s, before %s", f, before)
	require.LessOrEqual(t, f.descriptors, before.descriptors, "descriptors are left: %s, before %s", f, before)
}
