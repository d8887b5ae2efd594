//go:build linux

package guest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// initModules are the lists of what init loads, in this order, each module after
// what it depends on: those of every guest, and those of RDMA.
//
// rdma_rxe of 6.1 asks for crc32 by name when a link is added and refuses the
// link if it is not loaded yet; newer kernels have it built in.
var initModules = []moduleList{
	{"boot", []string{"?virtio_pci", "virtio_net"}},
	{"rdma", []string{"?crc32_generic", "?crc32-pclmul", "rdma_rxe", "ib_uverbs", "rdma_ucm"}},
}

// moduleList is what /lib/modules/RELEASE/NAME.load lists.
type moduleList struct {
	name    string
	modules []string
}

// moreModules are there for modprobe. A question mark stands before those that
// not every kernel has as a module.
var moreModules = []string{
	"?af_packet", "veth", "tun", "bridge", "dummy", "macvlan", "8021q", "bonding",
	"sch_netem", "sch_ingress", "sch_prio", "sch_tbf", "cls_u32", "cls_matchall", "cls_bpf", "act_gact", "act_mirred",
	"ip_tables", "iptable_filter", "iptable_mangle", "ip6_tables", "ip6table_filter",
	"xt_statistic", "xt_u32", "xt_length", "xt_tcpudp", "xt_mark", "?xt_DSCP", "?xt_dscp",
	"nvmet", "nvmet-rdma", "nvme-rdma", "null_blk", "brd", "loop",
}

// addModules copies kernel modules from an unpacked kernel package into the
// tree, with the lists of what init loads. moddir is the package's lib/modules/RELEASE, tmp a folder for scratch files.
func addModules(ctx context.Context, t tree, moddir, release, tmp string) error {
	root := filepath.Join(tmp, "modroot")
	if err := os.MkdirAll(filepath.Join(root, "lib/modules"), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(moddir, filepath.Join(root, "lib/modules", release)); err != nil {
		return err
	}
	// The package brings no modules.dep: its installation would make it.
	if _, err := run(ctx, "depmod", "-b", root, release); err != nil {
		return err
	}
	dir := filepath.Join(tmp, "stage", "lib/modules", release)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, l := range initModules {
		load, err := stageModules(ctx, root, release, dir, l.modules)
		if err != nil {
			return err
		}
		text := strings.Join(append(load, ""), "\n")
		t.file("/lib/modules/"+release+"/"+l.name+".load", []byte(text), 0o644)
	}
	if _, err := stageModules(ctx, root, release, dir, moreModules); err != nil {
		return err
	}
	for _, f := range []string{"modules.order", "modules.builtin", "modules.builtin.modinfo"} {
		if b, err := os.ReadFile(filepath.Join(moddir, f)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, f), b, 0o644); err != nil {
				return err
			}
		}
	}
	if _, err := run(ctx, "depmod", "-b", filepath.Join(tmp, "stage"), release); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyIn(t, "/lib/modules/"+release+"/"+e.Name(), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// stageModules copies the named modules and all they depend on into the folder dir,
// and returns the names of the copies in load order.
func stageModules(ctx context.Context, root, release, dir string, names []string) (load []string, err error) {
	files, err := dependencies(ctx, root, release, names)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		name := moduleFile(path)
		load = append(load, name)
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			continue // of an earlier list
		}
		if err := stageModule(ctx, path, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return load, nil
}

// dependencies returns the files of the named modules and of all they depend
// on, in load order, each once.
func dependencies(ctx context.Context, root, release string, names []string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	for _, n := range names {
		name, optional := strings.CutPrefix(n, "?")
		out, err := run(ctx, "modprobe", "-d", root, "-S", release, "--show-depends", name)
		if err != nil {
			if optional {
				continue
			}
			return nil, fmt.Errorf("%w (kernel %s has no module %s)", err, release, name)
		}
		sc := bufio.NewScanner(bytes.NewReader(out))
		for sc.Scan() {
			f := strings.Fields(sc.Text())
			if len(f) >= 2 && f[0] == "insmod" && !seen[f[1]] {
				seen[f[1]] = true
				files = append(files, f[1])
			}
		}
	}
	return files, nil
}

// moduleFile is a module's file name without the suffix of its compression.
func moduleFile(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".xz"), ".zst")
}

// stageModule writes a module to dst, uncompressed and without debug symbols.
func stageModule(ctx context.Context, src, dst string) error {
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	switch filepath.Ext(src) {
	case ".xz":
		b, err = runIn(ctx, "", b, nil, "xz", "-dc")
	case ".zst":
		b, err = runIn(ctx, "", b, nil, "zstd", "-qdc")
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(dst, b, 0o644); err != nil {
		return err
	}
	_, err = run(ctx, "strip", "-g", dst)
	return err
}
