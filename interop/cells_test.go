//go:build linux

package interop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// cell is a test of one thing on a connection of its own.
type cell interface {
	fmt.Stringer
	run(t *testing.T, b *bench, w way)
}

// testCells runs the cells of a suite in each direction and over each of the families,
// and returns a row for each. What the wire carried is checked.
func testCells(t *testing.T, l *lab, over []family, suite string, cells func(way) []cell, checks ...captureCheck) (rows []Row) {
	l.watched(t, func() {
		for _, f := range over {
			b := newBench(t, l, f)
			for _, w := range ways {
				rows = append(rows, runCells(t, b, w, suite, cells(w)))
			}
		}
	}, checks...)
	return rows
}

// runCells runs the cells of a suite in one direction and counts them.
func runCells(t *testing.T, b *bench, w way, suite string, cells []cell) (row Row) {
	name := w.name + " over " + b.name
	t.Run(name, func(t *testing.T) {
		mark, passed := b.tap.mark(), 0
		for _, c := range cells {
			t.Run(c.String(), func(t *testing.T) {
				c.run(t, b, w)
				passed++
			})
		}
		require.Equal(t, len(cells), passed, "cells that passed")
		row = b.row(t, suite, name, passed, recorded(b.tap.since(mark)))
	})
	return row
}
