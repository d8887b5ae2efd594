package uname

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelease(t *testing.T) {
	want, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(want)), Release())
	require.True(t, OlderThan(Release(), 1000, 0), "it can be read")
}
