package roce_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
)

// C22: regions at chosen addresses, zero-based ones among them, of a buffer that begins
// and ends anywhere. Peers and local work reach every byte, and none beside them.
func TestRegionAddresses(t *testing.T) {
	const n = 5003
	for name, c := range map[string]struct {
		access roce.Access
		opts   []roce.RegOption
		addr   uint64
	}{
		"zero based":      {roce.AccessZeroBased, nil, 0},
		"chosen 0":        {0, []roce.RegOption{roce.WithIOVA(0)}, 0},
		"chosen, odd":     {0, []roce.RegOption{roce.WithIOVA(0x1234567)}, 0x1234567},
		"across 2^32":     {0, []roce.RegOption{roce.WithIOVA(1<<32 - 2500)}, 1<<32 - 2500},
		"across 2^63":     {0, []roce.RegOption{roce.WithIOVA(1<<63 - 2500)}, 1<<63 - 2500},
		"the end of 2^64": {0, []roce.RegOption{roce.WithIOVA(math.MaxUint64 - n + 1)}, math.MaxUint64 - n + 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			memory := make([]byte, n+202)
			access := roce.AccessLocalWrite | roce.AccessRemoteRead | roce.AccessRemoteWrite | c.access
			m, err := p.b.pd.RegMR(memory[101:101+n], access, c.opts...)
			require.NoError(t, err)
			r := m.Remote()
			require.Equal(t, roce.Remote{Addr: c.addr, Key: r.Key, Len: n}, r)

			want := bytes.Clone(fill(p.a.mr.Bytes()[:n], 1))
			p.a.send(
				roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, n), RemoteAddr: r.Addr, RKey: r.Key},
				roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(10_000, n-1), RemoteAddr: r.Addr + 1, RKey: r.Key, Flags: roce.Signaled})
			require.NoError(t, p.wait(p.a, 1)[0].Err())
			require.Equal(t, want, m.Bytes())
			require.Equal(t, want[1:], p.a.mr.Bytes()[10_000:10_000+n-1])

			p.a.recv(1, 20_000, n)
			p.b.send(roce.SendWR{Op: roce.OpSend, SGE: m.SGE(3, n-3)})
			require.EqualValues(t, n-3, p.wait(p.a, 1)[0].ByteLen)
			require.Equal(t, want[3:], p.a.mr.Bytes()[20_000:20_000+n-3])
			require.Equal(t, make([]byte, 101), memory[:101])
			require.Equal(t, make([]byte, 101), memory[101+n:])

			p.a.send(roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(0, 1), RemoteAddr: r.Addr - 1, RKey: r.Key})
			require.Equal(t, roce.StatusRemoteAccess, p.wait(p.a, 1)[0].Status, "one byte before")
		})
	}
}
