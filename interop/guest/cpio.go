//go:build linux

package guest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"
)

// tree is the content of an initramfs, by path without a leading slash.
type tree map[string]node

// node is one file, folder or symbolic link. A link's target is in data.
type node struct {
	mode fs.FileMode // type bits fs.ModeDir, fs.ModeSymlink or none, and permissions
	data []byte
}

// add puts a node at path and makes its folders.
func (t tree) add(path string, n node) {
	path = strings.TrimPrefix(path, "/")
	t[path] = n
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if _, ok := t[path[:i]]; !ok {
			t[path[:i]] = node{mode: fs.ModeDir | 0o755}
		}
	}
}

func (t tree) file(path string, data []byte, perm fs.FileMode) { t.add(path, node{perm, data}) }
func (t tree) link(path, target string)                        { t.add(path, node{fs.ModeSymlink | 0o777, []byte(target)}) }
func (t tree) dir(path string)                                 { t.add(path, node{mode: fs.ModeDir | 0o755}) }

// writeCpio writes the tree as a cpio archive of the "newc" kind, which the
// kernel unpacks as its initramfs. All files belong to root and bear no time,
// so the same tree always gives the same bytes.
func writeCpio(w io.Writer, t tree) error {
	paths := make([]string, 0, len(t))
	for p := range t {
		paths = append(paths, p)
	}
	sort.Strings(paths) // a folder sorts before what it holds
	for i, p := range paths {
		n := t[p]
		mode := uint32(n.mode.Perm())
		switch n.mode.Type() {
		case fs.ModeDir:
			mode |= 0o040000
		case fs.ModeSymlink:
			mode |= 0o120000
		case 0:
			mode |= 0o100000
		default:
			return fmt.Errorf("guest: %s: no room in the initramfs for a file of type %v", p, n.mode.Type())
		}
		if err := writeCpioEntry(w, p, uint32(i+1), mode, n.data); err != nil {
			return err
		}
	}
	return writeCpioEntry(w, "TRAILER!!!", 0, 0, nil)
}

// writeCpioEntry writes one header of 13 hexadecimal fields, the name and the
// data, each padded to four bytes.
func writeCpioEntry(w io.Writer, name string, ino, mode uint32, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	b.WriteString(name)
	b.WriteByte(0)
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	_, err := w.Write(make([]byte, -len(data)&3))
	return err
}
