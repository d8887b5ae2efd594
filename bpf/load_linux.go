package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// load puts maps and program into the kernel: that for packets in several buffers
// if the kernel knows such, else the one for packets in a single buffer.
func load(c *Config) (collection *ebpf.Collection, frags bool, err error) {
	if !c.kernel.single {
		if collection, err = loadOnly(c, filterProgRoceFrags); err == nil {
			return collection, true, nil
		}
	}
	collection, err = loadOnly(c, filterProgRoceSingle)
	return collection, false, err
}

// loadOnly leaves the other program out.
func loadOnly(c *Config, program string) (*ebpf.Collection, error) {
	spec, err := loadFilter()
	if err != nil {
		return nil, err
	}
	spec.Programs = map[string]*ebpf.ProgramSpec{program: spec.Programs[program]}
	spec.Maps[filterMapSockets].MaxEntries = uint32(c.Queues)
	spec.Maps[filterMapAddresses].MaxEntries = uint32(len(c.Addrs))
	for _, a := range c.Addrs {
		spec.Maps[filterMapAddresses].Contents = append(spec.Maps[filterMapAddresses].Contents,
			ebpf.MapKV{Key: a.As16(), Value: uint8(0)})
	}
	collection, err := ebpf.NewCollection(spec)
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("load: CAP_BPF and CAP_NET_ADMIN are needed (root has both): %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return collection, nil
}

// program is the one that load chose.
func (f *Filter) program() *ebpf.Program {
	if f.frags {
		return f.collection.Programs[filterProgRoceFrags]
	}
	return f.collection.Programs[filterProgRoceSingle]
}
