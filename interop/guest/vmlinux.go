//go:build linux

package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
)

// extractVmlinux returns the ELF kernel inside a bzImage. QEMU starts it
// directly (PVH entry), which under emulation saves the seconds that the
// kernel's own decompressor takes.
//
// The boot protocol's header tells where the compressed payload lies:
// setup_sects at 0x1f1, payload_offset at 0x248, payload_length at 0x24c.
func extractVmlinux(ctx context.Context, bzImage []byte) ([]byte, error) {
	if len(bzImage) < 0x250 || string(bzImage[0x202:0x206]) != "HdrS" {
		return nil, fmt.Errorf("guest: the packaged kernel is no bzImage (no HdrS at 0x202)")
	}
	sects := int(bzImage[0x1f1])
	if sects == 0 {
		sects = 4
	}
	off := (sects+1)*512 + int(binary.LittleEndian.Uint32(bzImage[0x248:]))
	n := int(binary.LittleEndian.Uint32(bzImage[0x24c:]))
	if off < 0 || n < 0 || off+n > len(bzImage) {
		return nil, fmt.Errorf("guest: bzImage payload [%d, +%d) exceeds the file's %d bytes", off, n, len(bzImage))
	}
	payload := bzImage[off : off+n]
	for _, c := range []struct{ magic, cmd, arg string }{
		{"\xfd7zXZ", "xz", "-dc"},
		{"\x28\xb5\x2f\xfd", "zstd", "-dqc"},
		{"\x02\x21\x4c\x18", "lz4", "-dc"},
		{"\x1f\x8b", "gzip", "-dc"},
	} {
		if !bytes.HasPrefix(payload, []byte(c.magic)) {
			continue
		}
		args := []string{c.arg}
		if c.cmd == "xz" {
			args = append(args, "--single-stream")
		}
		// The payload ends with its plain length, which the tools report as
		// trailing garbage: judge by the output, not by the exit status.
		out, err := runIn(ctx, "", payload, nil, c.cmd, args...)
		if !bytes.HasPrefix(out, []byte("\x7fELF")) {
			return nil, fmt.Errorf("guest: %s of the bzImage payload gave no ELF file: %w", c.cmd, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("guest: bzImage payload has the unknown magic % x", payload[:min(6, len(payload))])
}
