//go:build linux

package guest

import (
	"bufio"
	_ "embed" // guest.lock
	"fmt"
	"sort"
	"strings"
)

// lockText is the committed lock file: which kernel packages an image is made
// from.
//
//go:embed guest.lock
var lockText string

// Kernel is the label of one kernel of guest.lock.
type Kernel string

// The kernels that images are made with.
const (
	Kernel61     Kernel = "6.1"    // Debian 12's own: the oldest rdma_rxe in wide use
	KernelNewest Kernel = "newest" // the newest one of Debian 13's backports
)

// Kernels returns the labels of all kernels, oldest first.
func Kernels() []Kernel { return []Kernel{Kernel61, KernelNewest} }

// Package is one pinned Debian package of the lock file.
type Package struct {
	Kernel  Kernel
	Suite   string // the suite that served it when it was resolved
	Name    string
	Version string
	SHA256  string // of the .deb, lower-case hexadecimal
}

// String returns "name version (suite)".
func (p Package) String() string { return fmt.Sprintf("%s %s (%s)", p.Name, p.Version, p.Suite) }

const updateCommand = "go run ./interop/guest/cmd/guestctl update"

const lockHeader = `# The kernel packages of the interoperability guests.
# Written by: ` + updateCommand + `
# kernel	suite	package	version	sha256 of the .deb
`

// formatLock renders packages as a lock file, sorted by kernel and name.
func formatLock(pkgs []Package) string {
	pkgs = append([]Package(nil), pkgs...)
	sort.Slice(pkgs, func(i, j int) bool {
		if pkgs[i].Kernel != pkgs[j].Kernel {
			return pkgs[i].Kernel < pkgs[j].Kernel
		}
		return pkgs[i].Name < pkgs[j].Name
	})
	var b strings.Builder
	b.WriteString(lockHeader)
	for _, p := range pkgs {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", p.Kernel, p.Suite, p.Name, p.Version, p.SHA256)
	}
	return b.String()
}

// parseLock reads what formatLock wrote.
func parseLock(text string) ([]Package, error) {
	var out []Package
	sc := bufio.NewScanner(strings.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 5 || len(f[4]) != 64 {
			return nil, fmt.Errorf("guest: guest.lock line %d: want kernel, suite, package, version, sha256; have %q; write it anew with: %s", n, line, updateCommand)
		}
		out = append(out, Package{Kernel(f[0]), f[1], f[2], f[3], f[4]})
	}
	return out, sc.Err()
}

// locked returns the pinned packages of one kernel.
func locked(k Kernel) ([]Package, error) {
	all, err := parseLock(lockText)
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, p := range all {
		if p.Kernel == k {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("guest: guest.lock pins no package for kernel %q; run: %s", k, updateCommand)
	}
	return out, nil
}
