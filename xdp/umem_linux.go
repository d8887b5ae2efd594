package xdp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of one socket. A ring has an entry for every chunk that may ever be in it,
// so putting one in cannot fail, and the kernel finds room for what it gives back.
const (
	chunkSize = 4096 // bytes: the largest that the kernel takes, a page
	rxChunks  = 2048 // entries of the fill and of the RX ring
	txChunks  = 1024 // entries of the TX and of the completion ring
	umemSize  = (rxChunks + txChunks) * chunkSize
)

// umem is the memory of a socket's frames, shared with the kernel: chunks for
// receiving, then chunks for sending. Addresses are offsets into it.
//
// It stays mapped as long as anything refers to the umem, since the engine may be
// reading or writing a chunk when the link is closed.
type umem struct {
	mem    []byte
	ledger ledger
}

// newUmem maps memory and registers it with an AF_XDP socket, which pins it.
func newUmem(fd int) (*umem, error) {
	mem, err := unix.Mmap(-1, 0, umemSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", umemSize, err)
	}
	u := &umem{mem: mem}
	runtime.AddCleanup(u, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
	u.ledger.init(rxChunks + txChunks)
	registration := unix.XDPUmemReg{
		Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(u.mem)))),
		Len:  umemSize,
		Size: chunkSize,
	}
	err = withMemlock(umemSize, func() error {
		return setsockopt(fd, unix.XDP_UMEM_REG, unsafe.Pointer(&registration), unsafe.Sizeof(registration))
	})
	if err != nil {
		return nil, fmt.Errorf("register %d bytes of frames: %w", umemSize, err)
	}
	return u, nil
}

// at is n bytes of a chunk.
func (u *umem) at(addr uint64, n uint32) []byte { return u.mem[addr : addr+uint64(n) : addr+uint64(n)] }

// chunkOf is the address of the chunk that an address lies in.
func chunkOf(addr uint64) uint64 { return addr &^ (chunkSize - 1) }

// rxChunk and txChunk are the addresses of the chunks of either kind.
func rxChunk(n int) uint64 { return uint64(n) * chunkSize }
func txChunk(n int) uint64 { return uint64(rxChunks+n) * chunkSize }
