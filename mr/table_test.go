package mr_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/mr"
)

const all = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic

func newTable(seed uint64) *mr.Table {
	return mr.NewTable(rand.New(rand.NewPCG(seed, 0)).Uint64)
}

// aligned returns n bytes whose address is a multiple of 8 plus skew.
func aligned(n, skew int) []byte {
	words := make([]byte, n+16)
	off := int(-mr.Address(words)&7) + skew
	return words[off : off+n : off+n]
}

func register(t testing.TB, table *mr.Table, pd mr.PD, buf []byte, iova uint64, a mr.Access) *mr.Region {
	t.Helper()
	r, err := table.Register(pd, buf, iova, a)
	require.NoError(t, err)
	return r
}

// C22: access at every boundary of a region, one byte either way, for regions at
// odd offsets, across pages, with a chosen address, at both ends of the address
// space.
func TestResolveAtEveryBoundary(t *testing.T) {
	for _, iova := range []uint64{0, 1, 4095, 4096, 0x7fff_ffff_ffff, math.MaxUint64 - 12288, math.MaxUint64 - 12287 + 1} {
		const size = 12288 - 1
		table := newTable(1)
		buf := aligned(size, 3)
		r := register(t, table, 7, buf, iova, mr.LocalWrite)
		for _, c := range []struct {
			off  int64 // from iova, may leave the region
			n    uint32
			want mr.Fault
		}{
			{0, 1, mr.NoFault}, {0, size, mr.NoFault}, {0, size + 1, mr.FaultRange},
			{-1, 1, mr.FaultRange}, {-1, 2, mr.FaultRange}, {-1, size, mr.FaultRange},
			{1, size - 1, mr.NoFault}, {1, size, mr.FaultRange},
			{size - 1, 1, mr.NoFault}, {size - 1, 2, mr.FaultRange},
			{size, 1, mr.FaultRange}, {size + 1, 1, mr.FaultRange},
			{4095, 2, mr.NoFault}, {4096, 4096, mr.NoFault},
			{0, math.MaxUint32, mr.FaultRange}, {size - 1, math.MaxUint32, mr.FaultRange},
			{-1, math.MaxUint32, mr.FaultRange},
		} {
			span, fault := table.Resolve(7, r.LKey(), iova+uint64(c.off), c.n, 0)
			require.Equal(t, c.want, fault, "iova %#x off %d n %d", iova, c.off, c.n)
			if fault != mr.NoFault {
				require.Empty(t, span.Bytes)
				continue
			}
			require.Len(t, span.Bytes, int(c.n))
			require.Equal(t, int(c.n), cap(span.Bytes), "a span must not reach beyond its range")
			require.Equal(t, mr.Address(buf)+uint64(c.off), mr.Address(span.Bytes))
		}
	}
}

func TestResolveFaultsInOrder(t *testing.T) {
	table := newTable(1)
	r := register(t, table, 7, aligned(64, 0), 1000, mr.LocalWrite|mr.RemoteRead)
	key := r.RKey()
	for name, c := range map[string]struct {
		pd   mr.PD
		key  mr.Key
		va   uint64
		need mr.Access
		want mr.Fault
	}{
		"all right":                  {7, key, 1000, mr.RemoteRead, mr.NoFault},
		"no right needed":            {7, key, 1000, 0, mr.NoFault},
		"key byte above":             {7, key ^ 1, 1000, mr.RemoteRead, mr.FaultKey},
		"other index":                {7, key ^ 0x100, 1000, mr.RemoteRead, mr.FaultKey},
		"key 0":                      {7, 0, 1000, mr.RemoteRead, mr.FaultKey},
		"wrong key hides all else":   {8, key ^ 1, 0, mr.RemoteWrite, mr.FaultKey},
		"other domain":               {8, key, 1000, mr.RemoteRead, mr.FaultPD},
		"wrong domain before right":  {8, key, 0, mr.RemoteWrite, mr.FaultPD},
		"right missing":              {7, key, 1000, mr.RemoteWrite, mr.FaultAccess},
		"one of two rights missing":  {7, key, 1000, mr.RemoteRead | mr.RemoteAtomic, mr.FaultAccess},
		"right missing before range": {7, key, 0, mr.RemoteWrite, mr.FaultAccess},
		"outside":                    {7, key, 999, mr.RemoteRead, mr.FaultRange},
	} {
		_, fault := table.Resolve(c.pd, c.key, c.va, 1, c.need)
		require.Equal(t, c.want, fault, name)
	}
}

// C18: a range of length 0 is not checked.
func TestZeroLengthResolvesWithoutCheck(t *testing.T) {
	span, fault := newTable(1).Resolve(1, 0xdeadbeef, 0, 0, all)
	require.Equal(t, mr.NoFault, fault)
	require.Empty(t, span.Bytes)
}

func TestRegisterRefuses(t *testing.T) {
	buf := aligned(64, 0)
	for name, c := range map[string]struct {
		buf    []byte
		iova   uint64
		access mr.Access
		reason mr.RegisterReason
		says   string
	}{
		"nothing":              {nil, 0, mr.LocalWrite, mr.ReasonEmpty, "at least one byte"},
		"unknown right":        {buf, 0, mr.LocalWrite | 1<<7, mr.ReasonUnknownRight, "0x80"},
		"write without local":  {buf, 0, mr.RemoteWrite, mr.ReasonLocalWrite, "need local write"},
		"atomic without local": {buf, 0, mr.RemoteAtomic, mr.ReasonLocalWrite, "need local write"},
		"zero based elsewhere": {buf, 8, mr.ZeroBased, mr.ReasonZeroBased, "pass address 0"},
		"past the end by 1":    {buf, math.MaxUint64 - 62, 0, mr.ReasonOverflow, "choose a lower address"},
		"atomic misaligned":    {buf, 1, all, mr.ReasonMisaligned, "modulo 8"},
		"atomic buffer skewed": {aligned(64, 4), 8, all, mr.ReasonMisaligned, "modulo 8"},
	} {
		_, err := newTable(1).Register(1, c.buf, c.iova, c.access)
		var typed *mr.RegisterError
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, c.reason, typed.Reason, name)
		require.ErrorContains(t, err, c.says, name)
	}
	for name, c := range map[string]struct {
		buf    []byte
		iova   uint64
		access mr.Access
	}{
		"local read only":        {buf, 0, 0},
		"remote read only":       {buf, 0, mr.RemoteRead},
		"to the very end":        {buf, math.MaxUint64 - 63, mr.LocalWrite},
		"skewed alike":           {aligned(64, 5), 8 + 5, all},
		"zero based and aligned": {buf, 0, all | mr.ZeroBased | mr.Polled},
	} {
		_, err := newTable(1).Register(1, c.buf, c.iova, c.access)
		require.NoError(t, err, name)
	}
}

func TestKeysOfRegion(t *testing.T) {
	table := newTable(1)
	local := register(t, table, 1, aligned(8, 0), 0, mr.LocalWrite)
	remote := register(t, table, 1, aligned(8, 0), 0, mr.RemoteRead)
	require.Zero(t, local.RKey(), "a region without remote rights publishes no key")
	require.Equal(t, remote.LKey(), remote.RKey())
}

func TestKeysAreDistinctAndUnpredictable(t *testing.T) {
	table, buf := newTable(testenv.Seed(t)), make([]byte, 1)
	const n = 10_000
	seen := make(map[mr.Key]bool, n)
	var neighbours int
	var last mr.Key
	for range n {
		k := register(t, table, 1, buf, 0, 0).LKey()
		require.NotZero(t, k)
		require.False(t, seen[k], "key %#x given twice", k)
		seen[k] = true
		if d := int32(k>>8) - int32(last>>8); -16 <= d && d <= 16 {
			neighbours++
		}
		last = k
	}
	// By chance 33 of 2^24 indices are within 16 of the last: 0.02 in 10,000.
	require.LessOrEqual(t, neighbours, 2, "consecutive keys lie close together")
	other := register(t, newTable(12345), 1, buf, 0, 0).LKey()
	again := register(t, newTable(12345), 1, buf, 0, 0).LKey()
	require.Equal(t, other, again, "the same randomness gives the same keys")
}

func TestDeregisteredKeysRest(t *testing.T) {
	table, buf := newTable(testenv.Seed(t)), make([]byte, 1)
	first := register(t, table, 1, buf, 0, 0)
	index := first.LKey() >> 8
	require.True(t, table.Deregister(first))
	require.True(t, table.Deregister(first), "twice is harmless")
	_, fault := table.Resolve(1, first.LKey(), 0, 1, 0)
	require.Equal(t, mr.FaultKey, fault)
	for n := 1; ; n++ {
		r := register(t, table, 1, buf, 0, 0)
		if r.LKey()>>8 == index {
			require.Greater(t, n, 1024, "the index came back too early")
			require.NotEqual(t, first.LKey(), r.LKey(), "and with the same key byte")
			return
		}
		require.Less(t, n, 5000, "the index never comes back: the table would leak")
		table.Deregister(r)
	}
}

// The table against a map, over random histories.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newTable(rapid.Uint64().Draw(t, "seed"))
		var live []*mr.Region
		var dead []mr.Key
		pick := func(t *rapid.T) int { return rapid.IntRange(0, len(live)-1).Draw(t, "region") }
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				buf := make([]byte, rapid.IntRange(1, 100).Draw(t, "len"))
				iova := rapid.Uint64Max(math.MaxUint64-200).Draw(t, "iova")
				r, err := table.Register(mr.PD(rapid.IntRange(1, 2).Draw(t, "pd")), buf, iova, mr.LocalWrite)
				if err != nil {
					t.Fatal(err)
				}
				live = append(live, r)
			},
			"deregister": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing registered")
				}
				i := pick(t)
				dead = append(dead, live[i].LKey())
				table.Deregister(live[i])
				live = append(live[:i], live[i+1:]...)
			},
			"resolve": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing registered")
				}
				r := live[pick(t)]
				size := len(r.Bytes())
				off, n := rapid.IntRange(-2, size+2).Draw(t, "off"), rapid.IntRange(1, size+2).Draw(t, "n")
				span, fault := table.Resolve(r.PD(), r.LKey(), r.Base()+uint64(off), uint32(n), 0)
				if inside := off >= 0 && off+n <= size; inside != (fault == mr.NoFault) {
					t.Fatalf("[%d, +%d) of %d bytes: %v", off, n, size, fault)
				} else if inside && &span.Bytes[0] != &r.Bytes()[off] {
					t.Fatalf("offset %d resolved to other memory", off)
				}
			},
			"": func(t *rapid.T) {
				for _, k := range dead {
					if _, fault := table.Resolve(1, k, 0, 1, 0); fault != mr.FaultKey {
						t.Fatalf("dead key %#x: %v", k, fault)
					}
				}
			},
		})
	})
}

// Under the race detector: look-ups beside registration and deregistration.
func TestResolveBesideRegistration(t *testing.T) {
	table := newTable(testenv.Seed(t))
	steady := register(t, table, 1, aligned(64, 0), 0, mr.LocalWrite)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, fault := table.Resolve(1, steady.LKey(), 8, 8, mr.LocalWrite); fault != mr.NoFault {
					t.Errorf("a live region did not resolve: %v", fault)
					return
				}
			}
		})
		writers.Go(func() {
			for range 3000 {
				r, err := table.Register(1, make([]byte, 8), 0, 0)
				if err != nil {
					t.Error(err)
					return
				}
				table.Resolve(1, r.LKey(), 0, 8, 0)
				table.Deregister(r)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func TestResolveAllocatesNothing(t *testing.T) {
	if testenv.Race {
		t.Skip("allocation counts prove nothing under the race detector")
	}
	table := newTable(1)
	r := register(t, table, 1, aligned(64, 0), 0, mr.LocalWrite)
	src := binary.NativeEndian.AppendUint64(nil, 1)
	var resolver mr.Resolver = table
	require.Zero(t, testing.AllocsPerRun(100, func() {
		span, _ := resolver.Resolve(1, r.LKey(), 8, 8, mr.LocalWrite)
		mr.Place(span, src, true)
		mr.FetchAdd(span.Bytes, 1)
		mr.CompareSwap(span.Bytes, 0, 1)
	}))
}

func BenchmarkResolve(b *testing.B) {
	table := newTable(1)
	keys := make([]mr.Key, 1024)
	for i := range keys {
		keys[i] = register(b, table, 1, aligned(64, 0), 0, mr.LocalWrite).LKey()
	}
	var resolver mr.Resolver = table
	for i := 0; b.Loop(); i++ {
		if _, fault := resolver.Resolve(1, keys[i%len(keys)], 8, 8, mr.LocalWrite); fault != mr.NoFault {
			b.Fatal(fault)
		}
	}
}
