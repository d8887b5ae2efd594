package mr

// AllocWindow makes a window that is not bound. The error is [ErrTableFull].
func (t *Table) AllocWindow(pd PD) (*Window, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, last, ok := t.takeSlot()
	if !ok {
		return nil, ErrTableFull
	}
	w := &Window{table: t, pd: pd, slot: slot}
	t.makePage(slot) // so that binding has nothing to allocate
	if last != 0 {
		w.rest(uint8(last))
	}
	return w, nil
}

// FreeWindow unbinds the window and takes it out of the table. Look-ups that began
// earlier may still use the memory that it showed: see [Table.Deregister]. Twice is
// harmless.
func (t *Table) FreeWindow(w *Window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	t.unbind(w)
	t.free = append(t.free, freeSlot{w.slot, w.newest()})
}

// Bind carries a bind work request out, for a queue pair of domain pd: from now on
// its peer reaches the memory. It does not allocate. On a fault nothing has
// happened.
func (t *Table) Bind(pd PD, qpn uint32, b *Binding) Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fault := b.check(t, pd); fault != NoFault {
		return fault
	}
	b.spent = true
	b.qpn, b.base, b.buf = qpn, b.first(), b.memory()
	b.access |= b.region.access & Polled
	b.region.windows++
	b.window.bound.Store(b)
	t.slot(b.window.slot).Store(&b.view)
	return NoFault
}

// Invalidate unbinds the window that has this key, if it is bound to the queue pair
// qpn of domain pd, and reports whether it was. Keys of regions cannot be
// invalidated: that is for regions made for fast registration, which there are none
// of.
func (t *Table) Invalidate(pd PD, qpn uint32, key Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.lookup(key)
	if v == nil || v.window == nil || v.pd != pd || v.qpn != qpn {
		return false
	}
	t.unbind(v.window)
	return true
}

// Release unbinds the window if it is bound to the queue pair qpn, which is gone:
// its number may come back one day.
func (t *Table) Release(w *Window, qpn uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := w.bound.Load(); b != nil && b.qpn == qpn {
		t.unbind(w)
	}
}

// unbind makes the window show nothing. The caller holds t.mu.
func (t *Table) unbind(w *Window) {
	b := w.bound.Swap(nil)
	if b == nil {
		return
	}
	t.slot(w.slot).Store(nil)
	b.region.windows--
}
