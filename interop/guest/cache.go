//go:build linux

package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cachePath returns the cache folder and makes it.
func cachePath(dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv("ROCE_GUEST_CACHE")
	}
	if dir == "" {
		d, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("guest: no place for the cache of images: %w; set ROCE_GUEST_CACHE", err)
		}
		dir = filepath.Join(d, "rocinante-guest")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// lockName is the cache's lock file.
const lockName = "lock"

// imageAge is how long an image stays in the cache after its last use.
const imageAge = 14 * 24 * time.Hour

// tidy removes what interrupted builds have left and images long unused. The
// caller holds the build lock, under which alone temporary folders exist.
func tidy(cache string) error {
	for _, pattern := range []string{"apt*", "build*", "images/*"} {
		found, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			st, err := os.Stat(f)
			if err != nil {
				return err
			}
			if pattern == "images/*" && time.Since(st.ModTime()) < imageAge {
				continue
			}
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockFile takes an exclusive lock that ends with the process at the latest.
func lockFile(ctx context.Context, path string, log func(string)) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	said := false
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("guest: lock %s: %w", path, err)
		}
		if !said {
			log("waiting for another process's build")
			said = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
