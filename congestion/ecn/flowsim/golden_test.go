package flowsim

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden proves that these scenarios give these very numbers, on every CPU.
func TestGolden(t *testing.T) {
	incast := scene(make([]Flow, 20)...)
	incast.Length, incast.Sample = 4*time.Millisecond, 200*time.Microsecond

	join := scene(Flow{}, Flow{Start: time.Millisecond, Rate: 5e9})
	join.Length, join.Sample = 20*time.Millisecond, 500*time.Microsecond

	adapters := scene(Flow{}, Flow{}, Flow{Off: true, Rate: 10e9})
	adapters.Params = ecn.ConnectX()
	adapters.Length, adapters.Sample = 20*time.Millisecond, 500*time.Microsecond

	windows := scene(Equal(4, 40e9)...)
	windows.Windows, windows.FixedDepartures = true, true
	windows.Length, windows.Sample = 10*time.Millisecond, 500*time.Microsecond

	for name, c := range map[string]Config{"incast": incast, "join": join, "connectx": adapters, "windows": windows} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			require.NoError(t, run(t, c).WriteCSV(&got))
			path := filepath.Join("testdata", name+".csv")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o777))
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "go test -update writes it")
			require.Equal(t, string(want), got.String(), "go test -update accepts it")
		})
	}
}
