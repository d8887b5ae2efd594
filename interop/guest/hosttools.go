//go:build linux

package guest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// hostNeed is a program or file of this machine and the Debian package that
// brings it.
type hostNeed struct {
	path string // a command name, or an absolute path
	pkg  string
}

// buildNeeds are used to make an image; the userland copied into the guest is
// in userlandNeeds.
var buildNeeds = []hostNeed{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"busybox", "busybox-static"},
	{"lz4", "lz4"},
	{"xz", "xz-utils"},
	{"zstd", "zstd"},
	{"depmod", "kmod"},
	{"modprobe", "kmod"},
	{"strip", "binutils"},
	{"gcc", "gcc"},
	{"ldd", "libc-bin"},
	{"dpkg-deb", "dpkg"},
	{"apt-get", "apt"},
	{"/usr/include/infiniband/verbs.h", "libibverbs-dev"},
}

// Check reports whether this machine has what Build and Boot need. The error
// names every missing program or file and the command that installs them.
func Check() error {
	var missing []string
	pkgs := map[string]bool{}
	for _, n := range append(append([]hostNeed{}, buildNeeds...), userlandNeeds...) {
		if _, err := hostPath(n.path); err != nil {
			missing = append(missing, n.path)
			pkgs[n.pkg] = true
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		missing = append(missing, "go (the Go tool, in PATH)")
	}
	if len(missing) == 0 {
		return nil
	}
	err := fmt.Errorf("guest: this machine lacks %s", strings.Join(missing, ", "))
	if len(pkgs) > 0 {
		var names []string
		for p := range pkgs {
			names = append(names, p)
		}
		sort.Strings(names)
		err = fmt.Errorf("%w; run: apt-get install -y --no-install-recommends %s", err, strings.Join(names, " "))
	}
	return err
}

// hostPath finds a command in PATH or in the system's sbin folders (which an
// ordinary user's PATH lacks), or a file by its absolute path, which may be a
// pattern: then it is the first match.
func hostPath(name string) (string, error) {
	if strings.HasPrefix(name, "/") {
		m, err := filepath.Glob(name)
		if err != nil {
			return "", err
		}
		if len(m) == 0 {
			return "", fmt.Errorf("guest: no file %s", name)
		}
		return m[0], nil
	}
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, d := range []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin"} {
		p := filepath.Join(d, name)
		if st, err := os.Stat(p); err == nil && st.Mode()&0o111 != 0 && !st.IsDir() {
			return p, nil
		}
	}
	return "", fmt.Errorf("guest: no command %s", name)
}
