//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// privateApt is an apt that knows one other Debian release than this
// machine's. It has its own sources, lists and package cache in dir, and
// nothing it fetches is ever installed.
type privateApt struct {
	dir string
}

// release is a Debian release whose suites are looked at.
type release struct {
	name      string // code name
	backports bool   // also at its backports
}

// newPrivateApt derives the sources of another release from this machine's own
// by changing the suites, and fetches the package lists.
func newPrivateApt(ctx context.Context, dir string, rel release, log func(string)) (*privateApt, error) {
	a := &privateApt{dir: dir}
	for _, d := range []string{"sources", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "status"), nil, 0o644); err != nil {
		return nil, err
	}
	own, err := hostRelease()
	if err != nil {
		return nil, err
	}
	files, err := otherSources("/etc/apt", own, rel)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "sources", name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	log("apt: fetching the package lists of " + rel.name)
	if _, err := a.run(ctx, "apt-get", "update", "--error-on=any"); err != nil {
		return nil, fmt.Errorf("%w (sources derived from this machine's own: is its mirror reachable, and does it serve %s?)", err, rel.name)
	}
	return a, nil
}

func (a *privateApt) run(ctx context.Context, tool string, args ...string) ([]byte, error) {
	return a.runFrom(ctx, a.dir, tool, args...)
}

// runFrom runs a tool of apt with the private folders, from the folder cwd.
func (a *privateApt) runFrom(ctx context.Context, cwd, tool string, args ...string) ([]byte, error) {
	opt := []string{
		"-qq",
		"-o", "Dir::Etc::SourceList=/dev/null",
		"-o", "Dir::Etc::SourceParts=" + filepath.Join(a.dir, "sources"),
		"-o", "Dir::State::Lists=" + filepath.Join(a.dir, "lists"),
		"-o", "Dir::State::Status=" + filepath.Join(a.dir, "status"),
		"-o", "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"-o", "Dir::Etc::Preferences=/dev/null",
		"-o", "Dir::Etc::PreferencesParts=/dev/null",
		"-o", "APT::Architecture=amd64",
		"-o", "APT::Architectures=amd64",
		"-o", "APT::Sandbox::User=",
		"-o", "Acquire::Languages=none",
		"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	}
	return runIn(ctx, cwd, nil, []string{"LC_ALL=C"}, tool, append(opt, args...)...)
}

// aptRecord is what apt knows of one version of a package.
type aptRecord struct {
	name, version, depends, sha256 string
}

// show returns the record of the highest version of a package, or of exactly
// the version given. A package that is not served gives ok false.
func (a *privateApt) show(ctx context.Context, name, version string) (rec aptRecord, ok bool, err error) {
	out, err := a.run(ctx, "apt-cache", "show", name)
	if err != nil {
		if strings.Contains(err.Error(), "No packages found") {
			return rec, false, nil
		}
		return rec, false, err
	}
	for _, p := range strings.Split(string(out), "\n\n") {
		f := deb822Fields(p)
		r := aptRecord{f["package"], f["version"], f["depends"], f["sha256"]}
		if r.name != name || (version != "" && r.version != version) {
			continue
		}
		if !ok || newer(ctx, r.version, rec.version) {
			rec, ok = r, true
		}
	}
	return rec, ok, nil
}

// newer reports whether Debian version x is greater than y.
func newer(ctx context.Context, x, y string) bool {
	_, err := run(ctx, "dpkg", "--compare-versions", x, "gt", y)
	return err == nil
}

// suite returns the suite that serves a version of a package.
func (a *privateApt) suite(ctx context.Context, name, version string) (string, error) {
	out, err := a.run(ctx, "apt-cache", "madison", name)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Split(line, "|")
		if len(f) != 3 || strings.TrimSpace(f[1]) != version {
			continue
		}
		if where := strings.Fields(f[2]); len(where) >= 2 {
			return strings.TrimSuffix(where[1], "/main"), nil
		}
	}
	return "", fmt.Errorf("guest: apt names no suite for %s %s", name, version)
}

// download fetches a pinned package into the file dst and checks its hash.
func (a *privateApt) download(ctx context.Context, p Package, dst string) error {
	rec, ok, err := a.show(ctx, p.Name, p.Version)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("guest: guest.lock pins %s, which Debian's mirror serves no more; pin what it serves now: %s", p, updateCommand)
	}
	if rec.sha256 != p.SHA256 {
		return fmt.Errorf("guest: %s is served with sha256 %s but guest.lock pins %s; look why, then pin it anew: %s", p, rec.sha256, p.SHA256, updateCommand)
	}
	tmp, err := os.MkdirTemp(a.dir, "download")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if _, err := a.runFrom(ctx, tmp, "apt-get", "download", p.Name+"="+p.Version); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil {
		return err
	}
	if len(debs) != 1 {
		return fmt.Errorf("guest: apt-get download of %s left %d .deb files, want 1", p, len(debs))
	}
	sum, err := fileSHA256(debs[0])
	if err != nil {
		return err
	}
	if sum != p.SHA256 {
		return fmt.Errorf("guest: the downloaded %s has sha256 %s, guest.lock pins %s", p, sum, p.SHA256)
	}
	return os.Rename(debs[0], dst)
}

// fileSHA256 returns a file's SHA-256 in hexadecimal.
func fileSHA256(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:]), nil
}

// deb822Fields parses one stanza of Debian's control format; names in lower
// case, continuation lines joined with newlines.
func deb822Fields(stanza string) map[string]string {
	f := map[string]string{}
	last := ""
	for _, line := range strings.Split(stanza, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
			f[last] += "\n" + line
		default:
			if k, v, ok := strings.Cut(line, ":"); ok {
				last = strings.ToLower(k)
				f[last] = strings.TrimSpace(v)
			}
		}
	}
	return f
}

// hostRelease returns the code name of this machine's Debian release.
func hostRelease() (string, error) {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	for _, line := range bytes.Split(b, []byte("\n")) {
		if v, ok := strings.CutPrefix(string(line), "VERSION_CODENAME="); ok {
			return strings.Trim(v, `"`), nil
		}
	}
	return "", fmt.Errorf("guest: /etc/os-release has no VERSION_CODENAME: the kernels come from Debian, by the sources of a Debian machine")
}
