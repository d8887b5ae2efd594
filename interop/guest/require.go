//go:build linux

package guest

import (
	"testing"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// Feature is what a test that uses guests passes to testenv.Need: this machine
// can make and boot them.
var Feature = testenv.Feature{Name: "interop", Check: Check}

// BootForTest builds the image of a kernel and boots it as cfg says (whose
// Image and Log it sets), and closes the guest at the end of the test. Where
// guests cannot be had the test is skipped, or fails, as testenv.Need says.
func BootForTest(t testing.TB, k Kernel, cfg Config) *Guest {
	t.Helper()
	testenv.Need(t, Feature)
	log := func(s string) { t.Log(s) }
	img, err := Build(t.Context(), BuildConfig{Kernel: k, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Image, cfg.Log = img, log
	g, err := Boot(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("end of the guest's console:\n" + tail(g.Console(), 25))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
