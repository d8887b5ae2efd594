package roce_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce"
)

// mapped is memory that the test maps, for as long as it runs. Where there is none of
// the kind the test is skipped.
func mapped(t testing.TB, fd int, size uint64, flags int) []byte {
	t.Helper()
	if size > math.MaxInt {
		t.Skip("needs a 64-bit address space")
	}
	buf, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		t.Skipf("mmap of %d bytes with flags %#x: %v", size, flags, err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Munmap(buf)) })
	return buf
}

// A region over 4 GiB: lengths on the wire have 32 bits, but every part of it is
// reached, by READ, WRITE, SEND, receive, atomics and windows, also where an address
// or an offset passes 2^32. The memory is sparse: only what is touched is there.
func TestRegionOver4GiB(t *testing.T) {
	size := uint64(6) << 30
	for name, opts := range map[string][]roce.RegOption{
		"address of the memory":      nil,
		"chosen, low":                {roce.WithIOVA(0x1000)},
		"chosen, at the end of 2^64": {roce.WithIOVA(math.MaxUint64 - size + 1)},
	} {
		t.Run(name, func(t *testing.T) {
			buf := mapped(t, -1, size, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
			p := newPair(t)
			m, err := p.b.pd.RegMR(buf, allRights|roce.AccessMWBind, opts...)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, m.Close()) }) // before it is unmapped
			require.EqualValues(t, uint32(math.MaxUint32), m.Remote().Len, "as much as one Remote can name")
			bind, err := p.b.pd.AllocMW()
			require.NoError(t, err)
			for i, at := range []uint64{0, 1<<32 - 1500, 1<<32 - 8, 1 << 32, 5<<30 + 8, size - 3000} {
				off := int(at)
				want := bytes.Clone(fill(p.a.mr.Bytes()[:3000], i))
				r := m.RemoteAt(off, 3000)
				transfer(t, p, r, buf[off:off+3000], want)

				wr := bind.Bind(m, off, 3000, roce.AccessRemoteWrite|roce.AccessRemoteRead)
				wr.Flags = roce.Signaled
				p.b.send(wr)
				require.NoError(t, p.wait(p.b, 1)[0].Err())
				require.Equal(t, r.Addr, bind.Remote().Addr)
				clear(buf[off : off+3000])
				transfer(t, p, bind.Remote(), buf[off:off+3000], want)
				p.b.send(roce.SendWR{Op: roce.OpLocalInv, RKey: wr.RKey, Flags: roce.Signaled})
				require.NoError(t, p.wait(p.b, 1)[0].Err())

				_, err = p.b.qp.PostRecv(roce.RecvWR{SGE: m.SGE(off, 2000)})
				require.NoError(t, err)
				p.a.send(roce.SendWR{Op: roce.OpSend, SGE: p.a.mr.SGE(1000, 2000)})
				require.NoError(t, p.wait(p.b, 1)[0].Err())
				require.Equal(t, want[1000:], buf[off:off+2000])
			}
			middle := int(size / 2)
			r := m.RemoteAt(middle, 8)
			p.a.send(roce.SendWR{Op: roce.OpFetchAdd, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key, Add: 5, Flags: roce.Signaled})
			require.NoError(t, p.wait(p.a, 1)[0].Err())
			require.Equal(t, p.a.mr.LoadUint64(0)+5, m.LoadUint64(middle))

			over := m.RemoteAt(int(size)-3000, 3000)
			p.a.send(roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 3000), RemoteAddr: over.Addr + 1, RKey: over.Key})
			require.Equal(t, roce.StatusRemoteAccess, p.wait(p.a, 1)[0].Status, "one byte over its end")
		})
	}
}

// transfer writes to the peer's memory and reads it back.
func transfer(t *testing.T, p *pair, r roce.Remote, there, want []byte) {
	t.Helper()
	back := p.a.mr.Bytes()[10_000 : 10_000+len(want)]
	clear(back)
	p.a.send(
		roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, len(want)), RemoteAddr: r.Addr, RKey: r.Key},
		roce.SendWR{Op: roce.OpRead, SGE: p.a.mr.SGE(10_000, len(want)), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
	require.NoError(t, p.wait(p.a, 1)[0].Err())
	require.Equal(t, want, there)
	require.Equal(t, want, back)
}

// Memory that the caller mapped: what a peer writes is in the file, in the other
// mapping of shared memory, and in huge pages.
func TestMappedMemory(t *testing.T) {
	const size = 4 << 20 // two huge pages of the usual size
	file := func(t *testing.T) int {
		f, err := os.Create(filepath.Join(t.TempDir(), "memory"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		require.NoError(t, f.Truncate(size))
		return int(f.Fd())
	}
	shared := func(t *testing.T) int {
		fd, err := unix.MemfdCreate("memory", 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		require.NoError(t, unix.Ftruncate(fd, size))
		return fd
	}
	for name, open := range map[string]func(*testing.T) int{"file": file, "shared memory": shared} {
		t.Run(name, func(t *testing.T) {
			fd := open(t)
			buf, other := mapped(t, fd, size, unix.MAP_SHARED), mapped(t, fd, size, unix.MAP_SHARED)
			useMapped(t, buf)
			require.Equal(t, buf[:10_000], other[:10_000], "another mapping shows the same")
			read := make([]byte, 10_000)
			n, err := unix.Pread(fd, read, 0)
			require.NoError(t, err)
			require.Equal(t, buf[:10_000], read[:n])
		})
	}
	t.Run("huge pages", func(t *testing.T) {
		useMapped(t, mapped(t, -1, size, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB))
	})
	t.Run("transparent huge pages", func(t *testing.T) {
		buf := mapped(t, -1, size, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err := unix.Madvise(buf, unix.MADV_HUGEPAGE); err != nil {
			t.Skipf("madvise for huge pages: %v", err)
		}
		useMapped(t, buf)
	})
}

// useMapped has a peer use all of a region of mapped memory.
func useMapped(t *testing.T, buf []byte) {
	t.Helper()
	p := newPair(t)
	m, err := p.b.pd.RegMR(buf, allRights)
	require.NoError(t, err)
	for i, off := range []int{0, 2<<20 - 2000, len(buf) - 10_000} {
		want := bytes.Clone(fill(p.a.mr.Bytes()[:10_000], i))
		transfer(t, p, m.RemoteAt(off, 10_000), buf[off:off+10_000], want)
	}
	require.NoError(t, m.Close())
}

// unmapsVariable is set in the process that the next test sacrifices.
const unmapsVariable = "ROCE_TEST_UNMAP"

// Unmapping memory, or truncating its file, under a live region kills the process at
// the peer's next access, as the documentation says: nothing is written elsewhere, and
// nothing goes on as if it had been.
func TestUnmappingUnderLiveRegionKills(t *testing.T) {
	if how := os.Getenv(unmapsVariable); how != "" {
		unmapUnderLiveRegion(t, how)
		return
	}
	for _, how := range []string{"unmap", "truncate"} {
		t.Run(how, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestUnmappingUnderLiveRegionKills$")
			cmd.Env = append(os.Environ(), unmapsVariable+"="+how, "GOTRACEBACK=single")
			out, err := cmd.CombinedOutput()
			var died *exec.ExitError
			require.ErrorAs(t, err, &died, "%s", out)
			require.Contains(t, string(out), "unexpected fault address")
			require.NotContains(t, string(out), "the peer's WRITE completed")
		})
	}
}

func unmapUnderLiveRegion(t *testing.T, how string) {
	fd, err := unix.MemfdCreate("memory", 0)
	require.NoError(t, err)
	require.NoError(t, unix.Ftruncate(fd, 1<<20))
	buf, err := unix.Mmap(fd, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	p := newPair(t)
	m, err := p.b.pd.RegMR(buf, allRights)
	require.NoError(t, err)
	r := m.Remote()
	if how == "unmap" {
		require.NoError(t, unix.Munmap(buf))
	} else {
		require.NoError(t, unix.Ftruncate(fd, 0))
	}
	p.a.send(roce.SendWR{Op: roce.OpWrite, SGE: p.a.mr.SGE(0, 8), RemoteAddr: r.Addr, RKey: r.Key, Flags: roce.Signaled})
	p.wait(p.a, 1)
	t.Log("the peer's WRITE completed")
}
