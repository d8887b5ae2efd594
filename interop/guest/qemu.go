//go:build linux

package guest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Names of the logs in the guest's folder.
const (
	consoleLog = "console.log"
	qemuLog    = "qemu.log"
)

// vmArgs is QEMU's command line. Measured on two cores without KVM: booting
// the uncompressed kernel and the kernel parameters from tsc to cryptomgr save
// half of the boot time.
func (g *Guest) vmArgs(cfg Config, netdev string) []string {
	self := cfg.addresses()
	params := []string{
		"console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off nokaslr cryptomgr.notests random.trust_cpu=on",
		"guest.ip4=" + self.ipv4.String(),
		"guest.ip6=" + self.ipv6.String(),
		fmt.Sprintf("guest.mtu=%d", cfg.MTU),
		"guest.ctl=" + controlAddr,
		fmt.Sprintf("guest.agent=%s:%d", controlGateway, g.control.port()),
		"guest.token=" + g.control.token,
		"guest.modules=" + strings.Join(cfg.Modules, ","),
	}
	if cfg.NoRDMA {
		params = append(params, "guest.rdma=no")
	}
	params = append(params, cfg.Params...)
	return []string{
		"-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-smp", fmt.Sprint(cfg.CPUs), "-m", fmt.Sprint(cfg.MemoryMB),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", cfg.Image.Vmlinux, "-initrd", cfg.Image.Initramfs,
		"-append", strings.Join(params, " "),
		"-netdev", netdev,
		"-device", dataNIC(cfg, self.mac),
		"-netdev", "user,id=control,ipv6=off",
		"-device", "virtio-net-pci,netdev=control,romfile=,mac=" + controlMAC,
		"-serial", "file:" + filepath.Join(g.dir, consoleLog),
		"-monitor", "none",
	}
}

// dataNIC is QEMU's option for the data NIC. It offloads nothing, so that every frame
// on the wire is one packet with its checksums done.
func dataNIC(cfg Config, mac net.HardwareAddr) string {
	nic := "virtio-net-pci,netdev=data,romfile=,mac=" + mac.String() +
		",csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ufo=off"
	if cfg.ZeroCopy {
		nic += ",iommu_platform=on,disable-legacy=on"
	}
	return nic
}

// vm is a QEMU process.
type vm struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how, valid after done
}

// startVM starts QEMU such that the kernel kills it when this process dies.
//
// That signal (Pdeathsig) comes when the thread that started QEMU ends, not the
// process; so one goroutine keeps its thread from before the start until QEMU
// has ended.
func startVM(args []string, log string) (*vm, error) {
	path, err := hostPath("qemu-system-x86_64")
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	v := &vm{cmd: exec.Command(path, args...), done: make(chan struct{})}
	v.cmd.Stdout, v.cmd.Stderr = out, out
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := v.cmd.Start()
		started <- err
		if err == nil {
			v.err = v.cmd.Wait()
			close(v.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("guest: start QEMU: %w", err)
	}
	return v, nil
}

// kill ends the process and waits until it has.
func (v *vm) kill() error {
	err := v.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-v.done
	return err
}
