//go:build linux

package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/interop/guest"
)

const (
	pingpongIters = 100
	// cellTimeout only keeps a hanging cell from hanging the tests.
	cellTimeout = 2 * time.Minute
)

// pingpongShape is what is sent, and over which link.
type pingpongShape struct{ linkMTU, mtu, size int }

var (
	pingpongShapes = []pingpongShape{
		{1500, 1024, 1},
		{1500, 1024, 4096},
		{1500, 256, 1000},
		{9000, 4096, 65536},
	}
	pingpongSmoke = []pingpongShape{{1500, 1024, 4096}}

	pingpongRoles    = []string{"client", "server"} // of roci
	pingpongFamilies = []string{"IPv4", "IPv6"}
)

// pingpongCell is one run against ibv_rc_pingpong on the kernel's device.
type pingpongCell struct {
	pingpongShape
	role, family string
}

func (c pingpongCell) String() string {
	return fmt.Sprintf("%s %s %d bytes MTU %d", c.role, c.family, c.size, c.mtu)
}

// TestPingpong runs roci pingpong against ibv_rc_pingpong: in both roles, over both
// families, with messages of part of a packet, of several packets, and of many. All
// of it against the oldest kernel, and part of it against the newest unless ROCE_FULL
// is set. In each cell both ends must succeed, every message must have arrived
// unchanged in both directions, and a capture of the cable must hold nothing wrong.
func TestPingpong(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns, testenv.Tshark)
	roci := buildRoci(t)
	var rows []pingpongRow
	want := 0
	for _, k := range guest.Kernels() {
		shapes := pingpongShapes
		if k != guest.Kernel61 && !testenv.Full() {
			shapes = pingpongSmoke
		}
		want += len(shapes) * len(pingpongRoles) * len(pingpongFamilies)
		for _, linkMTU := range []int{1500, 9000} {
			cells := pingpongCells(shapes, linkMTU)
			if len(cells) == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s link MTU %d", k, linkMTU), func(t *testing.T) {
				g := guest.BootForTest(t, k, guest.Config{Data: guest.OnTap, MTU: linkMTU})
				for _, c := range cells {
					t.Run(c.String(), func(t *testing.T) {
						ctx, cancel := context.WithTimeout(t.Context(), cellTimeout)
						defer cancel()
						rows = append(rows, c.run(ctx, t, g, roci))
					})
				}
			})
		}
	}
	if t.Failed() {
		return
	}
	require.Len(t, rows, want, "cells of the matrix")
	for _, r := range rows {
		t.Logf("%+v", r)
	}
	if testenv.Full() {
		writePingpongRows(t, rows)
	}
}

func pingpongCells(shapes []pingpongShape, linkMTU int) (cells []pingpongCell) {
	for _, s := range shapes {
		if s.linkMTU != linkMTU {
			continue
		}
		for _, role := range pingpongRoles {
			for _, family := range pingpongFamilies {
				cells = append(cells, pingpongCell{s, role, family})
			}
		}
	}
	return cells
}

// buildRoci builds the command as a user gets it.
func buildRoci(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roci")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/roci").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}
