//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

func TestLockRoundTrip(t *testing.T) {
	pkgs, err := parseLock(lockText)
	require.NoError(t, err)
	require.Equal(t, lockText, formatLock(pkgs))
	for _, k := range Kernels() {
		pkgs, err := locked(k)
		require.NoError(t, err)
		require.NotEmpty(t, releaseName(pkgs), "%v", pkgs)
	}
	_, err = parseLock("6.1 bookworm linux-image 1\n")
	require.ErrorContains(t, err, updateCommand)
	_, err = locked("5.0")
	require.ErrorContains(t, err, updateCommand)
}

// A pinned package that is not there any more must stop the build.
func TestPinnedPackageIsGone(t *testing.T) {
	testenv.Need(t, Feature)
	real := lockText
	t.Cleanup(func() { lockText = real })
	sum := strings.Repeat("0", 64)
	lockText = formatLock([]Package{{Kernel61, "bookworm", "linux-image-6.1.0-1-amd64", "6.1.1-1", sum}})
	_, err := Build(t.Context(), BuildConfig{Kernel: Kernel61, CacheDir: t.TempDir()})
	require.ErrorContains(t, err, "linux-image-6.1.0-1-amd64 6.1.1-1 (bookworm), which Debian's mirror serves no more")
	require.ErrorContains(t, err, updateCommand)
}

// A second Build takes the image of the first; an interrupted one leaves
// nothing that passes for an image.
func TestBuildIsCached(t *testing.T) {
	testenv.Need(t, Feature)
	img, err := Build(t.Context(), BuildConfig{Kernel: KernelNewest})
	require.NoError(t, err)
	var log []string
	again, err := Build(t.Context(), BuildConfig{Kernel: KernelNewest, Log: func(s string) { log = append(log, s) }})
	require.NoError(t, err)
	require.Equal(t, img, again)
	require.Len(t, log, 1)
	require.Contains(t, log[0], "(cached)")

	cache := t.TempDir()
	store := filepath.Join(cache, "debs")
	require.NoError(t, os.MkdirAll(store, 0o755))
	for _, p := range img.Packages {
		user, err := cachePath("")
		require.NoError(t, err)
		require.NoError(t, os.Symlink(filepath.Join(user, "debs", p.SHA256+".deb"), filepath.Join(store, p.SHA256+".deb")))
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Build(ctx, BuildConfig{Kernel: KernelNewest, CacheDir: cache, Log: func(s string) {
		if strings.HasPrefix(s, "packing") {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	left, err := filepath.Glob(filepath.Join(cache, "images", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSourcesOfAnotherRelease(t *testing.T) {
	etc := t.TempDir()
	dir := filepath.Join(etc, "sources.list.d")
	require.NoError(t, os.Mkdir(dir, 0o755))
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(filepath.Join(etc, "sources.list"), `# comment
deb http://mirror.example/debian bookworm main contrib
deb-src http://mirror.example/debian bookworm main
deb [ signed-by=/k.gpg arch=amd64 ] http://mirror.example/security bookworm-security main
deb http://elsewhere.example/ stable main
`)
	write(filepath.Join(dir, "debian.sources"), `# comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates bookworm-proposed-updates
Components: main
Signed-By:
 -----BEGIN KEY-----
 .
 abc

Types: deb
URIs: http://elsewhere.example/
Suites: nodistro
Components: main
`)
	write(filepath.Join(dir, "other.sources.off"), "Suites: bookworm\n")
	got, err := otherSources(etc, "bookworm", release{name: "trixie", backports: true})
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"guest.list": `deb http://mirror.example/debian trixie main
deb http://mirror.example/debian trixie-backports main
deb [ signed-by=/k.gpg arch=amd64 ] http://mirror.example/security trixie-security main
`,
		"guest.sources": `components: main
signed-by: 
 -----BEGIN KEY-----
 .
 abc
suites: trixie trixie-backports trixie-updates
types: deb
uris: http://mirror.example/debian
`,
	}, got)
	got, err = otherSources(etc, "bookworm", release{name: "bookworm"})
	require.NoError(t, err)
	require.Contains(t, got["guest.sources"], "suites: bookworm bookworm-updates\n")
	_, err = otherSources(etc, "sid", release{name: "trixie"})
	require.Error(t, err)
}

// The archive is what cpio and hence the kernel take it for.
func TestCpio(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("no cpio in PATH; install the Debian package cpio")
	}
	tr := tree{}
	tr.file("/a/b/run", []byte("#!/bin/sh\n"), 0o755)
	tr.file("/a/empty", nil, 0o600)
	tr.link("/a/link", "b/run")
	tr.dir("/z")
	var first, second bytes.Buffer
	require.NoError(t, writeCpio(&first, tr))
	require.NoError(t, writeCpio(&second, tr))
	require.Equal(t, first.Bytes(), second.Bytes())
	tr["dev"] = node{mode: fs.ModeDevice}
	require.Error(t, writeCpio(&second, tr))

	dir := t.TempDir()
	cmd := exec.Command("cpio", "-idm", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &first
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(filepath.Join(dir, "a/link"))
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\n", string(b))
	st, err := os.Stat(filepath.Join(dir, "a/b/run"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), st.Mode().Perm())
	st, err = os.Stat(filepath.Join(dir, "a/empty"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
	require.Zero(t, st.Size())
	require.DirExists(t, filepath.Join(dir, "z"))
}

// The pattern is splitmix64's: its first outputs for seed 1234567 are published.
func TestPattern(t *testing.T) {
	require.Equal(t, uint64(6457827717110365317), binary.LittleEndian.Uint64(Pattern(1234567, 8)))
	require.Equal(t, uint64(3203168211198807973), binary.LittleEndian.Uint64(Pattern(1234567, 16)[8:]))
	require.Len(t, Pattern(1, 13), 13)
	require.Equal(t, Pattern(1, 13), Pattern(1, 64)[:13])
	require.NotEqual(t, sha256.Sum256(Pattern(1, 64)), sha256.Sum256(Pattern(2, 64)))
}
