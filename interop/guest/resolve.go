//go:build linux

package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// releaseOf tells which Debian release serves a kernel.
var releaseOf = map[Kernel]release{
	Kernel61:     {name: "bookworm"},
	KernelNewest: {name: "trixie", backports: true},
}

// Update resolves every kernel to the newest packages that Debian serves now
// and returns the text of a new lock file. cacheDir is as in BuildConfig; log
// may be nil.
func Update(ctx context.Context, cacheDir string, log func(string)) (string, error) {
	cache, err := cachePath(cacheDir)
	if err != nil {
		return "", err
	}
	if log == nil {
		log = func(string) {}
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, lockName), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := tidy(cache); err != nil {
		return "", err
	}
	var all []Package
	for _, k := range Kernels() {
		pkgs, err := resolve(ctx, cache, k, log)
		if err != nil {
			return "", err
		}
		for _, p := range pkgs {
			log(fmt.Sprintf("kernel %s: %s", k, p))
		}
		all = append(all, pkgs...)
	}
	return formatLock(all), nil
}

var imageDependency = regexp.MustCompile(`\blinux-image-(\d[^ ]*-amd64)\b`)

// resolve asks Debian which packages hold the newest generic kernel: the
// highest linux-image-amd64 depends on the versioned one. (The flavour
// "cloud-amd64" has no rdma_rxe.) Kernels since 7.2 are split: linux-binary
// has the kernel and linux-modules the modules, and linux-image is empty.
func resolve(ctx context.Context, cache string, k Kernel, log func(string)) ([]Package, error) {
	dir, err := os.MkdirTemp(cache, "apt")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	apt, err := newPrivateApt(ctx, dir, releaseOf[k], log)
	if err != nil {
		return nil, err
	}
	meta, ok, err := apt.show(ctx, "linux-image-amd64", "")
	if err != nil {
		return nil, err
	}
	m := imageDependency.FindStringSubmatch(meta.depends)
	if !ok || m == nil {
		return nil, fmt.Errorf("guest: %s serves no linux-image-amd64 that names a kernel (depends: %q)", releaseOf[k].name, meta.depends)
	}
	if k == Kernel61 && !strings.HasPrefix(m[1], "6.1.") {
		return nil, fmt.Errorf("guest: kernel 6.1 was asked for, but %s serves %s", releaseOf[k].name, m[1])
	}
	names := []string{"linux-image-" + m[1]}
	image, ok, err := apt.show(ctx, names[0], "")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("guest: %s serves no %s, on which linux-image-amd64 depends", releaseOf[k].name, names[0])
	}
	if strings.Contains(image.depends, "linux-binary-") {
		names = []string{"linux-binary-" + m[1], "linux-modules-" + m[1]}
	}
	var out []Package
	for _, n := range names {
		rec, ok, err := apt.show(ctx, n, image.version)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("guest: %s serves no %s %s", releaseOf[k].name, n, image.version)
		}
		suite, err := apt.suite(ctx, n, rec.version)
		if err != nil {
			return nil, err
		}
		out = append(out, Package{k, suite, n, rec.version, rec.sha256})
	}
	return out, nil
}

// debs returns the .deb files of the pinned packages, from the cache or from
// Debian. It never takes another version than the pinned one.
func debs(ctx context.Context, cache string, pkgs []Package, log func(string)) ([]string, error) {
	store := filepath.Join(cache, "debs")
	if err := os.MkdirAll(store, 0o755); err != nil {
		return nil, err
	}
	var out []string
	var apt *privateApt
	for _, p := range pkgs {
		dst := filepath.Join(store, p.SHA256+".deb")
		out = append(out, dst)
		if sum, err := fileSHA256(dst); err == nil && sum == p.SHA256 {
			log("package " + p.String() + " (cached)")
			continue
		}
		if apt == nil {
			dir, err := os.MkdirTemp(cache, "apt")
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(dir)
			if apt, err = newPrivateApt(ctx, dir, releaseOf[p.Kernel], log); err != nil {
				return nil, err
			}
		}
		log("package " + p.String())
		if err := apt.download(ctx, p, dst); err != nil {
			return nil, err
		}
	}
	return out, nil
}
