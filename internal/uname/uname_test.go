package uname

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOlderThan(t *testing.T) {
	for release, older := range map[string]bool{
		"5.8.0": true, "5.9.0-rc1": false, "5.10.0": false, "4.19.0-27-amd64": true, "6.1.0": false, "": false, "strange": false,
	} {
		require.Equal(t, older, OlderThan(release, 5, 9), release)
	}
}
