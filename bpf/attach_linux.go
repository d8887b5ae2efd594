package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocinante-rdma/roce/internal/uname"
)

// Errors that [Attach] tells apart.
var (
	// ErrOccupied says that the interface has another XDP program.
	ErrOccupied = errors.New("the interface has another XDP program")
	// ErrKernel says that the kernel cannot attach an XDP program by a link.
	ErrKernel = errors.New("XDP links need Linux 5.9")
)

// kernel is what Attach asks the kernel for; tests put an older one here.
type kernel struct {
	attach  func(link.XDPOptions) (link.Link, error)
	release func() string
	single  bool // it knows no packets in several buffers
}

// attach puts a program on the interface in the mode that is asked for. The kernel
// refuses where another program is, in whichever mode.
func attach(c *Config, p *ebpf.Program) (l link.Link, m Mode, whyGeneric, err error) {
	if c.Mode != Generic {
		if l, err = attachMode(c, p, Native); err == nil || c.Mode == Native || hopeless(err) {
			return l, Native, nil, err
		}
		whyGeneric = err
	}
	l, err = attachMode(c, p, Generic)
	return l, Generic, whyGeneric, err
}

// hopeless reports whether another mode will not do either.
func hopeless(err error) bool {
	return errors.Is(err, ErrOccupied) || errors.Is(err, ErrKernel) || errors.Is(err, unix.EPERM)
}

func attachMode(c *Config, p *ebpf.Program, m Mode) (link.Link, error) {
	options := link.XDPOptions{Program: p, Interface: c.Index, Flags: link.XDPDriverMode}
	if m == Generic {
		options.Flags = link.XDPGenericMode
	}
	l, err := c.kernel.attachXDP(options)
	if err != nil {
		return nil, fmt.Errorf("attach in %v mode: %w", m, c.explain(err))
	}
	return l, nil
}

// explain says what the kernel's error means here.
func (c *Config) explain(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%w: %s; end the process that holds it, or detach it with: ip link set dev %s xdp off",
			ErrOccupied, occupant(c.Index), c.Interface)
	case errors.Is(err, unix.EINVAL) && uname.OlderThan(c.kernel.running(), 5, 9):
		return fmt.Errorf("%w, and this is %s: use the raw link (AF_PACKET) instead: %w", ErrKernel, c.kernel.running(), err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the driver has no native XDP: %w", err)
	case errors.Is(err, unix.ERANGE):
		return fmt.Errorf("the interface's MTU is too large for its driver's XDP: %w", err)
	}
	return err
}

// occupant describes the program on an interface.
func occupant(index int) string {
	l, err := netlink.LinkByIndex(index)
	if err != nil || l.Attrs().Xdp == nil || l.Attrs().Xdp.ProgId == 0 {
		return "which one cannot be seen"
	}
	id := ebpf.ProgramID(l.Attrs().Xdp.ProgId)
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return fmt.Sprintf("id %d", id)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return fmt.Sprintf("id %d", id)
	}
	return fmt.Sprintf("id %d, name %q", id, info.Name)
}

func (k kernel) attachXDP(o link.XDPOptions) (link.Link, error) {
	if k.attach != nil {
		return k.attach(o)
	}
	return link.AttachXDP(o)
}

// running is the kernel's release.
func (k kernel) running() string {
	if k.release != nil {
		return k.release()
	}
	return uname.Release()
}
