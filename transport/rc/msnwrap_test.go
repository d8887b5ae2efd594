package rc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The MSN has 24 bits (R16).
func TestMSNWraps(t *testing.T) {
	m := &Machine{}
	m.msn = 0xfffffe
	m.completeMessage()
	require.EqualValues(t, 0xffffff, m.msn)
	m.completeMessage()
	require.Zero(t, m.msn)
	m.completeMessage()
	require.EqualValues(t, 1, m.msn)
}
