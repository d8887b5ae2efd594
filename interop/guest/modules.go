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

// bootModules are loaded by init in this order, each after what it depends on.
// rdma_rxe of 6.1 asks for crc32 by name when a link is added and refuses the
// link if it is not loaded yet; newer kernels have it built in.
var bootModules = []string{
	"?virtio_pci", "virtio_net", "?crc32_generic", "?crc32-pclmul", "rdma_rxe", "ib_uverbs", "rdma_ucm",
}

// moreModules are there for modprobe. A question mark stands before those that
// not every kernel has as a module.
var moreModules = []string{
	"?af_packet", "veth", "tun", "bridge", "dummy", "macvlan", "8021q",
	"sch_netem", "sch_ingress", "sch_prio", "sch_tbf", "cls_u32", "cls_matchall", "cls_bpf", "act_gact", "act_mirred",
	"ip_tables", "iptable_filter", "iptable_mangle", "ip6_tables", "ip6table_filter",
	"xt_statistic", "xt_u32", "xt_length", "xt_tcpudp", "xt_mark", "?xt_DSCP", "?xt_dscp",
	"nvmet", "nvmet-rdma", "nvme-rdma", "null_blk", "brd", "loop",
}

// addModules copies kernel modules from an unpacked kernel package into the
// tree, with the list /lib/modules/RELEASE/boot.load of what init loads.
// moddir is the package's lib/modules/RELEASE, tmp a folder for scratch files.
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
	boot, err := dependencies(ctx, root, release, bootModules)
	if err != nil {
		return err
	}
	more, err := dependencies(ctx, root, release, moreModules)
	if err != nil {
		return err
	}
	stage := filepath.Join(tmp, "stage")
	dir := filepath.Join(stage, "lib/modules", release)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var load bytes.Buffer
	seen := map[string]bool{}
	for i, path := range append(boot, more...) {
		name := moduleFile(path)
		if i < len(boot) {
			fmt.Fprintln(&load, name)
		}
		if !seen[name] {
			seen[name] = true
			if err := stageModule(ctx, path, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for _, f := range []string{"modules.order", "modules.builtin", "modules.builtin.modinfo"} {
		if b, err := os.ReadFile(filepath.Join(moddir, f)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, f), b, 0o644); err != nil {
				return err
			}
		}
	}
	if _, err := run(ctx, "depmod", "-b", stage, release); err != nil {
		return err
	}
	t.file("/lib/modules/"+release+"/boot.load", load.Bytes(), 0o644)
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
