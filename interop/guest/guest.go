//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocinante-rdma/roce/internal/netns"
)

// DataLink is what the guest's data NIC is attached to.
type DataLink int

const (
	// OnWire attaches it to a Wire: the test process sends and receives the
	// Ethernet frames itself. No privileges needed.
	OnWire DataLink = iota
	// OnTap joins the Wire to a tap device in a new network namespace (Guest.Netns),
	// in which the test opens its sockets. The Wire's faults and recordings are of what passes;
	// its ReadFrame and Link are not to be used. Root needed.
	OnTap
)

// Config tells how Boot starts a guest. Only Image must be set.
type Config struct {
	Image *Image
	Data  DataLink
	// MTU of the data link's two ends, in bytes; 0 means 1500. rxe0's path MTU
	// is 1024 with 1500, and 4096 with 4500 and more.
	MTU int
	// Join is a guest booted with OnTap: this one is attached to its cable as well,
	// in place of Data, so that the two and the tap device reach each other.
	Join *Guest
	// NoRDMA leaves out rdma_rxe, which would take UDP port 4791: a stack of our own
	// runs in the guest. There is no rxe0 then.
	NoRDMA bool
	// ZeroCopy has the data NIC behave as virtio_net needs it for AF_XDP sockets
	// without copying.
	ZeroCopy bool
	// CPUs and MemoryMB are the guest's; 0 means 1 CPU and 512 MB.
	CPUs, MemoryMB int
	// Modules are kernel modules to load besides those that RDMA needs.
	Modules []string
	// Params are more kernel parameters, such as "ipv6.disable=1".
	Params []string
	// Log receives progress, a line a call; nil discards it.
	Log func(line string)
}

// bootTimeout bounds a boot whose context has no deadline. Boots take 6 to 12 s
// on an idle machine.
const bootTimeout = 3 * time.Minute

// Guest is a running virtual machine. Its methods are safe for concurrent use.
// The owner must Close it; should this process die first, QEMU, the tap device
// and the network namespace die with it.
type Guest struct {
	image    *Image
	mtu      int
	dir      string // sockets and logs; removed by Close
	vm       *vm
	control  *control
	wire     *Wire
	netns    *netns.Netns
	tap      *tap
	hub      *hub
	bootTime time.Duration

	closeOnce sync.Once
	closeErr  error
	peerPort  atomic.Uint32 // that the last peer got
}

// Boot starts a guest and waits until its agent answers, which it does after
// rxe0 is up. The context bounds the boot only. On failure the error bears the
// last lines of the guest's console and what QEMU said.
func Boot(ctx context.Context, cfg Config) (_ *Guest, err error) {
	if cfg.Image == nil {
		return nil, errors.New("guest: Config.Image is nil; get one from Build")
	}
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	if cfg.CPUs == 0 {
		cfg.CPUs = 1
	}
	if cfg.MemoryMB == 0 {
		cfg.MemoryMB = 512
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bootTimeout)
		defer cancel()
	}
	g := &Guest{image: cfg.Image, mtu: cfg.MTU}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if g.dir, err = os.MkdirTemp("", "roce-guest"); err != nil {
		return nil, err
	}
	netdev, err := g.attach(cfg)
	if err != nil {
		return nil, err
	}
	if g.control, err = listenControl(); err != nil {
		return nil, err
	}
	start := time.Now()
	if g.vm, err = startVM(g.vmArgs(cfg, netdev), filepath.Join(g.dir, qemuLog)); err != nil {
		return nil, err
	}
	select {
	case <-g.control.ready:
	case <-g.vm.done:
		return nil, fmt.Errorf("guest: QEMU ended during the boot of kernel %s: %w%s", g.image.Release, g.vm.err, g.logs())
	case <-ctx.Done():
		return nil, fmt.Errorf("guest: kernel %s did not boot within %.0f s: %w%s", g.image.Release, time.Since(start).Seconds(), ctx.Err(), g.logs())
	}
	g.bootTime = time.Since(start)
	if err := g.wire.connect(); err != nil {
		return nil, err
	}
	if g.hub != nil {
		g.hub.plug(g.wire)
	}
	cfg.Log(fmt.Sprintf("guest: kernel %s booted in %.1f s", g.image.Release, g.bootTime.Seconds()))
	return g, nil
}

// attach makes the far end of the data NIC, and returns QEMU's option for it.
func (g *Guest) attach(cfg Config) (netdev string, err error) {
	qemu, own := filepath.Join(g.dir, "qemu.sock"), filepath.Join(g.dir, "wire.sock")
	if g.wire, err = newWire(own, qemu, cfg.MTU); err != nil {
		return "", err
	}
	netdev = "dgram,id=data,local.type=unix,local.path=" + qemu + ",remote.type=unix,remote.path=" + own
	switch {
	case cfg.Join != nil:
		if cfg.Join.hub == nil {
			return "", errors.New("guest: Config.Join needs a guest that was booted with OnTap")
		}
		g.hub = cfg.Join.hub
	case cfg.Data == OnTap:
		if g.netns, err = netns.New(); err != nil {
			return "", fmt.Errorf("guest: OnTap: %w (OnWire needs no privileges)", err)
		}
		if g.tap, err = addTap(g.netns, cfg.MTU); err != nil {
			return "", err
		}
		g.hub = &hub{}
		g.hub.plug(g.tap)
	default:
		return netdev, nil
	}
	g.wire.SetAddrs() // the tap device's kernel, or the other guest, answers for itself
	return netdev, nil
}

// Kernel returns the label of the guest's kernel.
func (g *Guest) Kernel() Kernel { return g.image.Kernel }

// BootTime returns how long the boot took, from the start of QEMU until the
// agent answered.
func (g *Guest) BootTime() time.Duration { return g.bootTime }

// MTU returns the data link's MTU in bytes.
func (g *Guest) MTU() int { return g.mtu }

// Wire returns the guest's data link. It is closed by the guest's Close.
func (g *Guest) Wire() *Wire { return g.wire }

// Netns returns the network namespace of a guest booted with OnTap, otherwise
// nil: with one interface beside lo, the tap device TapName, which has HostIPv4,
// HostIPv6 and HostMAC. It is closed by the guest's Close.
func (g *Guest) Netns() *netns.Netns { return g.netns }

// GatewayIP returns the address under which a program in the guest reaches
// this machine's 127.0.0.1 by TCP, over the control NIC.
func (g *Guest) GatewayIP() string { return controlGateway }

// Console returns what the guest's kernel and init have printed so far.
func (g *Guest) Console() string {
	b, err := os.ReadFile(filepath.Join(g.dir, consoleLog))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(b), "\r", "")
}

// logs is the end of the console and of QEMU's messages, for errors.
func (g *Guest) logs() string {
	s := "\n--- end of the console:\n" + tail(g.Console(), 25)
	if b, err := os.ReadFile(filepath.Join(g.dir, qemuLog)); err == nil && len(b) > 0 {
		s += "\n--- QEMU:\n" + tail(string(b), 10)
	}
	return s
}

// Close ends the virtual machine at once (nothing in it is worth saving) and
// frees all that belongs to the guest. Programs started in it fail. Calling it
// again returns the first call's error.
func (g *Guest) Close() error {
	g.closeOnce.Do(func() {
		var errs []error
		if g.vm != nil {
			errs = append(errs, g.vm.kill())
		}
		if g.control != nil {
			errs = append(errs, g.control.close())
		}
		if g.wire != nil {
			errs = append(errs, g.wire.Close())
		}
		if g.tap != nil {
			errs = append(errs, g.tap.close())
		}
		if g.netns != nil {
			errs = append(errs, g.netns.Close())
		}
		if g.dir != "" {
			errs = append(errs, os.RemoveAll(g.dir))
		}
		g.closeErr = errors.Join(errs...)
	})
	return g.closeErr
}
