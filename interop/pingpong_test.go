//go:build linux

package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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
	// Over the links below IP: of several packets, and of packets of the largest size.
	pingpongNIC = []pingpongShape{{1500, 1024, 4096}, {9000, 4096, 65536}}

	pingpongNICLinks = []string{"raw", "xdp"}
	pingpongRoles    = []string{"client", "server"} // of roci
	pingpongFamilies = []string{"IPv4", "IPv6"}
)

// pingpongCell is one run against ibv_rc_pingpong on the kernel's device.
type pingpongCell struct {
	pingpongShape
	link, role, family string
}

func (c pingpongCell) String() string {
	return fmt.Sprintf("%s %s %s %d bytes MTU %d", c.link, c.role, c.family, c.size, c.mtu)
}

// TestPingpong runs roci pingpong against ibv_rc_pingpong: in both roles, over both
// families, with messages of part of a packet, of several packets, and of many, over
// the kernel's UDP and over the links below IP. All of it against the oldest kernel,
// and part of it against the newest unless ROCE_FULL is set. In each cell both ends must succeed, every message must have arrived
// unchanged in both directions, and a capture of the cable must hold nothing wrong.
func TestPingpong(t *testing.T) {
	testenv.Need(t, guest.Feature, testenv.Root, testenv.Netns, testenv.Tshark)
	roci := buildRoci(t)
	var rows []pingpongRow
	want := 0
	for _, k := range guest.Kernels() {
		all := pingpongCells(k)
		want += len(all)
		for _, linkMTU := range []int{1500, 9000} {
			cells := slices.DeleteFunc(slices.Clone(all), func(c pingpongCell) bool { return c.linkMTU != linkMTU })
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

// pingpongCells are those to run against a kernel.
func pingpongCells(k guest.Kernel) []pingpongCell {
	if k != guest.Kernel61 && !testenv.Full() {
		return pingpongMatrix("udp", pingpongSmoke)
	}
	cells := pingpongMatrix("udp", pingpongShapes)
	for _, l := range pingpongNICLinks {
		cells = append(cells, pingpongMatrix(l, pingpongNIC)...)
	}
	return cells
}

func pingpongMatrix(link string, shapes []pingpongShape) (cells []pingpongCell) {
	for _, s := range shapes {
		for _, role := range pingpongRoles {
			for _, family := range pingpongFamilies {
				cells = append(cells, pingpongCell{s, link, role, family})
			}
		}
	}
	return cells
}

// buildRoci builds the command as a static program, which runs in guests too.
func buildRoci(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roci")
	cmd := exec.Command("go", "build", "-o", path, "../cmd/roci")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}
