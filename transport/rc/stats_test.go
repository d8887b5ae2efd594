package rc_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/transport/rc"
)

// TestStatsAddUp proves that no counter is forgotten when those of several queue pairs
// are added up.
func TestStatsAddUp(t *testing.T) {
	var one, sum rc.Stats
	fields := reflect.ValueOf(&one).Elem()
	for i := range fields.NumField() {
		fields.Field(i).SetUint(1 << i)
	}
	sum.Add(one)
	require.Equal(t, one, sum)
	sum.Add(one)
	for i := range fields.NumField() {
		require.EqualValues(t, 2<<i, reflect.ValueOf(sum).Field(i).Uint(), fields.Type().Field(i).Name)
	}
}
