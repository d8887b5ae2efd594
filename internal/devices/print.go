package devices

import (
	"fmt"
	"io"
	"strings"
)

// width is that of the text, in characters.
const width = 100

// Print shows devices for people.
func Print(w io.Writer, list []Device) error {
	var b strings.Builder
	for n := range list {
		if n > 0 {
			b.WriteByte('\n')
		}
		list[n].print(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Device) print(b *strings.Builder) {
	paragraph(b, d.Name+"  ", d.headline())
	paragraph(b, "  MTU   ", d.mtuText())
	column := 0
	for _, g := range d.GIDs {
		column = max(column, len(g.GID))
	}
	for n, g := range d.GIDs {
		label := "  GID   "
		if n > 0 {
			label = "        "
		}
		paragraph(b, fmt.Sprintf("%s%-2d %-*s  ", label, g.Index, column, g.GID), g.text())
	}
	for _, l := range merge(d.Links) {
		paragraph(b, fmt.Sprintf("  %-5s ", l.Name), l.text())
	}
}

// headline is the state and what the interface is.
func (d *Device) headline() string {
	parts := []string{"PORT_" + d.State}
	if d.MAC != "" {
		parts = append(parts, d.MAC)
	}
	kind := d.Kind
	if d.Driver != "" && d.Driver != kind {
		kind = fmt.Sprintf("%s (driver %s)", kind, d.Driver)
	}
	if d.VLAN != 0 {
		kind += fmt.Sprintf(" %d", d.VLAN)
	}
	return strings.Join(append(parts, kind, fmt.Sprintf("queues: up to %d rx, %d tx", d.RxQueues, d.TxQueues)), "  ")
}

func (d *Device) mtuText() string {
	s := fmt.Sprintf("%d, so the largest path MTU is %d", d.MTU, d.PathMTU)
	if d.PathMTU == 0 {
		s = fmt.Sprintf("%d, too small for any path MTU", d.MTU)
	}
	if d.Larger != nil {
		s += fmt.Sprintf("; for %d set the MTU to %d", d.Larger.Payload, d.Larger.Needs)
	}
	return s
}

func (g *GID) text() string {
	s := g.Type
	if g.VLAN != 0 {
		s += fmt.Sprintf(", VLAN %d (%s)", g.VLAN, g.Interface)
	}
	if g.Problem != "" {
		s += "; unusable: " + g.Problem
	}
	return s
}

func (l Link) text() string {
	s := string(l.Verdict)
	if l.Way != "" {
		s = l.Way + " " + s
	}
	if l.Note != "" {
		s += ": " + l.Note
	}
	return s
}

// merge joins neighbouring links of which the same is known.
func merge(links []Link) []Link {
	var out []Link
	for _, l := range links {
		if n := len(out) - 1; n >= 0 && l.Note != "" && out[n].text() == l.text() {
			out[n].Name += ", " + l.Name
			continue
		}
		out = append(out, l)
	}
	return out
}

// hang is the indentation of lines that go on.
const hang = "        "

// paragraph writes text behind a label, and breaks lines between words.
func paragraph(b *strings.Builder, label, text string) {
	line := label
	for n, word := range strings.SplitAfter(text, " ") {
		if n > 0 && len(line)+len(strings.TrimRight(word, " ")) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = hang
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
