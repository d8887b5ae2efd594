//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"
)

// builderVersion is part of an image's identity. Raise it when the way in
// which images are made changes.
const builderVersion = "2"

// BuildConfig tells which image Build makes.
type BuildConfig struct {
	// Kernel is the label of the kernel in guest.lock.
	Kernel Kernel
	// CacheDir holds images and packages. When empty it is $ROCE_GUEST_CACHE,
	// or rocinante-guest in the user's cache folder.
	CacheDir string
	// Log receives progress, a line a call; nil discards it.
	Log func(line string)
}

// Image is a guest image in the cache. Its files must not be modified.
type Image struct {
	Kernel    Kernel
	Release   string    // what uname -r says in the guest
	Packages  []Package // which the kernel came from
	Vmlinux   string    // path of the uncompressed kernel
	Initramfs string    // path of the initramfs, compressed
}

// Build makes the image of a kernel, or finds it in the cache. The same pinned
// packages, userland, agent and peer give the same image; anything that
// changes makes a new one. Concurrent builds, also by several processes, wait
// for each other, and an interrupted one leaves nothing that is taken for an
// image.
//
// It fails when this machine lacks a program (see Check), and when the version
// pinned in guest.lock is no longer served and not in the cache: it never
// takes another kernel instead.
func Build(ctx context.Context, cfg BuildConfig) (*Image, error) {
	log := cfg.Log
	if log == nil {
		log = func(string) {}
	}
	if err := Check(); err != nil {
		return nil, err
	}
	cache, err := cachePath(cfg.CacheDir)
	if err != nil {
		return nil, err
	}
	pkgs, err := locked(cfg.Kernel)
	if err != nil {
		return nil, err
	}
	base, err := userland(ctx)
	if err != nil {
		return nil, err
	}
	id, err := identity(ctx, pkgs, base)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "images", string(cfg.Kernel)+"-"+id)
	img := &Image{
		Kernel:    cfg.Kernel,
		Release:   releaseName(pkgs),
		Packages:  pkgs,
		Vmlinux:   filepath.Join(dir, "vmlinux"),
		Initramfs: filepath.Join(dir, "initramfs.lz4"),
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err == nil { // in use: see tidy
		log("image " + filepath.Base(dir) + " (cached)")
		return img, nil
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, lockName), log)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		log("image " + filepath.Base(dir) + " (made by another process)")
		return img, nil
	}
	if err := tidy(cache); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := build(ctx, cache, dir, img, base, log); err != nil {
		return nil, err
	}
	log(fmt.Sprintf("image %s made in %.1f s", filepath.Base(dir), time.Since(start).Seconds()))
	return img, nil
}

// build makes the image in a temporary folder and moves it to dir.
func build(ctx context.Context, cache, dir string, img *Image, t tree, log func(string)) error {
	files, err := debs(ctx, cache, img.Packages, log)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	root := filepath.Join(tmp, "kernel")
	log("unpacking kernel " + img.Release)
	for _, f := range files {
		if _, err := run(ctx, "dpkg-deb", "-x", f, root); err != nil {
			return err
		}
	}
	bz, moddir, err := kernelFiles(root, img.Release)
	if err != nil {
		return err
	}
	out := filepath.Join(tmp, "image")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	b, err := os.ReadFile(bz)
	if err != nil {
		return err
	}
	elf, err := extractVmlinux(ctx, b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "vmlinux"), elf, 0o644); err != nil {
		return err
	}
	log("compiling the agent and the verbs peer")
	if err := addPrograms(ctx, t, tmp); err != nil {
		return err
	}
	log("packing the initramfs")
	if err := addModules(ctx, t, moddir, img.Release, tmp); err != nil {
		return err
	}
	if err := packInitramfs(ctx, t, tmp, filepath.Join(out, "initramfs.lz4")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.Rename(out, dir)
}

// kernelFiles finds the bzImage and the modules of an unpacked kernel package.
func kernelFiles(root, release string) (bzImage, moddir string, err error) {
	for _, p := range []string{"usr/lib/modules", "lib/modules"} {
		d := filepath.Join(root, p, release)
		if _, err := os.Stat(filepath.Join(d, "kernel")); err == nil {
			moddir = d
		}
	}
	for _, p := range []string{"boot/vmlinuz-" + release, "usr/lib/modules/" + release + "/vmlinuz"} {
		f := filepath.Join(root, p)
		if _, err := os.Stat(f); err == nil {
			bzImage = f
		}
	}
	if moddir == "" || bzImage == "" {
		return "", "", fmt.Errorf("guest: the packages of kernel %s hold no kernel or no modules where they are known to be", release)
	}
	return bzImage, moddir, nil
}

// packInitramfs writes the tree as a cpio archive, compressed with lz4's
// legacy format, the only one of lz4 that the kernel unpacks.
func packInitramfs(ctx context.Context, t tree, tmp, dst string) error {
	cpio := filepath.Join(tmp, "initramfs.cpio")
	f, err := os.Create(cpio)
	if err != nil {
		return err
	}
	if err := errors.Join(writeCpio(f, t), f.Close()); err != nil {
		return err
	}
	_, err = run(ctx, "lz4", "-l", "-9", "-q", "-f", cpio, dst)
	return err
}

// identity is a hash over all that an image is made of.
func identity(ctx context.Context, pkgs []Package, t tree) (string, error) {
	h := sha256.New()
	gcc, err := run(ctx, "gcc", "-dumpfullversion")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s %s %s\n%s", builderVersion, runtime.Version(), bytes.TrimSpace(gcc), formatLock(pkgs))
	fmt.Fprintln(h, initModules, moreModules)
	if err := writeCpio(h, t); err != nil {
		return "", err
	}
	err = fs.WalkDir(sources, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sources.ReadFile(p)
		fmt.Fprintf(h, "%s %d\n%s", p, len(b), b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// releaseName is the kernel release in the name of a kernel's package.
func releaseName(pkgs []Package) string {
	var names []string
	for _, p := range pkgs {
		names = append(names, p.Name)
	}
	sort.Strings(names)
	for _, prefix := range []string{"linux-image-", "linux-binary-"} {
		for _, n := range names {
			if r, ok := strings.CutPrefix(n, prefix); ok {
				return r
			}
		}
	}
	return ""
}
