//go:build linux

package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// userlandNeeds are the programs and libraries of this machine that are copied
// into the guest. Programs go to /usr/bin under their own names, files keep
// their paths. A path may be a pattern.
var userlandNeeds = []hostNeed{
	{"ibv_devinfo", "ibverbs-utils"},
	{"ibv_devices", "ibverbs-utils"},
	{"ibv_rc_pingpong", "ibverbs-utils"},
	{"ibv_uc_pingpong", "ibverbs-utils"},
	{"ibv_ud_pingpong", "ibverbs-utils"},
	{"ibv_srq_pingpong", "ibverbs-utils"},
	{"ibv_xsrq_pingpong", "ibverbs-utils"},
	{"rping", "rdmacm-utils"},
	{"ucmatose", "rdmacm-utils"},
	{"udaddy", "rdmacm-utils"},
	{"rstream", "rdmacm-utils"},
	{"riostream", "rdmacm-utils"},
	{"rdma_server", "rdmacm-utils"},
	{"rdma_client", "rdmacm-utils"},
	{"mckey", "rdmacm-utils"},
	{"cmtime", "rdmacm-utils"},
	{"rcopy", "rdmacm-utils"},
	{"ib_send_bw", "perftest"},
	{"ib_send_lat", "perftest"},
	{"ib_write_bw", "perftest"},
	{"ib_write_lat", "perftest"},
	{"ib_read_bw", "perftest"},
	{"ib_read_lat", "perftest"},
	{"ib_atomic_bw", "perftest"},
	{"ib_atomic_lat", "perftest"},
	{"ip", "iproute2"},
	{"tc", "iproute2"},
	{"rdma", "iproute2"},
	{"ss", "iproute2"},
	{"bridge", "iproute2"},
	{"dash", "dash"},
	{"ethtool", "ethtool"},
	{"tcpdump", "tcpdump"},
	{"xtables-legacy-multi", "iptables"},
	// What ldd does not show: the verbs provider of rxe, the library that
	// pthread_cancel loads, and the extensions of iptables.
	{"/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so", "ibverbs-providers"},
	{"/etc/libibverbs.d/rxe.driver", "ibverbs-providers"},
	{"/lib/x86_64-linux-gnu/libgcc_s.so.1", "libgcc-s1"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_standard.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_udp.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_tcp.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_statistic.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_u32.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_length.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_mark.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_DSCP.so", "iptables"},
	{"/usr/lib/x86_64-linux-gnu/xtables/libxt_TOS.so", "iptables"},
}

// userland reads the guest's userland from this machine: the programs and
// libraries of userlandNeeds and the shared libraries they load.
func userland(ctx context.Context) (tree, error) {
	t := tree{}
	var dynamic []string
	for _, n := range userlandNeeds {
		src, err := hostPath(n.path)
		if err != nil {
			return nil, fmt.Errorf("%w; run: apt-get install -y --no-install-recommends %s", err, n.pkg)
		}
		dst := src
		if !strings.HasPrefix(n.path, "/") {
			dst = "/usr/bin/" + n.path
		}
		if err := copyIn(t, dst, src); err != nil {
			return nil, err
		}
		if strings.Contains(dst, "/bin/") || strings.Contains(dst, ".so") {
			dynamic = append(dynamic, src)
		}
	}
	libs, err := sharedLibraries(ctx, dynamic)
	if err != nil {
		return nil, err
	}
	for _, l := range libs {
		if err := copyIn(t, l, l); err != nil {
			return nil, err
		}
	}
	if err := busybox(ctx, t); err != nil {
		return nil, err
	}
	t.link("/usr/bin/iptables", "xtables-legacy-multi")
	t.link("/usr/bin/ip6tables", "xtables-legacy-multi")
	// dash, because busybox's ash prefers its own applets to the real tools.
	t.link("/bin/sh", "../usr/bin/dash")
	for path, text := range map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\n",
		"/etc/group":         "root:x:0:\n",
		"/etc/hosts":         "127.0.0.1 localhost\n",
		"/etc/nsswitch.conf": "hosts: files\n",
	} {
		t.file(path, []byte(text), 0o644)
	}
	for _, d := range []string{"/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/mnt", "/var"} {
		t.dir(d)
	}
	t.link("/var/run", "../run")
	return t, nil
}

// copyIn puts the host's file src into the tree as dst; links are followed.
func copyIn(t tree, dst, src string) error {
	st, err := os.Stat(src)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	t.file(dst, b, st.Mode().Perm())
	return nil
}

// sharedLibraries returns the paths of all libraries (and the loader) that the
// given programs and libraries load, sorted.
func sharedLibraries(ctx context.Context, files []string) ([]string, error) {
	out, err := run(ctx, "ldd", files...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("guest: ldd: %s; is the package of its user installed whole?", strings.TrimSpace(line))
		}
		if strings.HasSuffix(line, ":") { // the name of the file whose libraries follow
			continue
		}
		for _, f := range strings.Fields(line) {
			if strings.HasPrefix(f, "/") {
				seen[f] = true
			}
		}
	}
	libs := make([]string, 0, len(seen))
	for l := range seen {
		libs = append(libs, l)
	}
	sort.Strings(libs)
	return libs, nil
}

// busybox adds the static busybox and a link for each applet that no real
// program in the tree replaces.
func busybox(ctx context.Context, t tree) error {
	src, err := hostPath("busybox")
	if err != nil {
		return err
	}
	if out, err := run(ctx, "ldd", src); err == nil && !strings.Contains(string(out), "statically") {
		return fmt.Errorf("guest: %s is linked dynamically; run: apt-get install -y --no-install-recommends busybox-static", src)
	}
	if err := copyIn(t, "/bin/busybox", src); err != nil {
		return err
	}
	list, err := run(ctx, "busybox", "--list")
	if err != nil {
		return err
	}
	for _, applet := range strings.Fields(string(list)) {
		if _, real := t["usr/bin/"+applet]; real || applet == "busybox" || applet == "sh" {
			continue
		}
		t.link(filepath.Join("/bin", applet), "busybox")
	}
	// The kernel itself calls /sbin/modprobe, for instance for crc32.
	t.link("/sbin/modprobe", "../bin/busybox")
	return nil
}
