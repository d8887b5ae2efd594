package trace

import (
	"errors"
	"sync"
	"time"
)

// DefaultBuffer is the usual buffer of a recorder: enough for some milliseconds of
// line rate.
const DefaultBuffer = 8 << 20

// syncBuffer holds any one UDP payload.
const syncBuffer = 64 << 10

// writeInterval is how long a packet waits for the writer at most, unless the
// buffer is half full sooner. Ticks instead of a wake-up per packet keep the tap
// cheap.
const writeInterval = 20 * time.Millisecond

// Recorder copies the events of one or more devices and writes them to sinks, in
// the order in which the taps were called.
//
// Taps fill one buffer while the writer empties another; then the two change
// places. A tap copies under a mutex that is held for nothing else, so it does not
// wait for the sinks. A packet that finds the buffer full is not recorded but
// counted, and every sink says so where the packet is missing.
//
// All methods are safe for concurrent use, but a sink must not call them.
type Recorder struct {
	synchronous bool
	wake        chan struct{} // capacity 1: the buffer is half full
	stop, done  chan struct{}
	closing     sync.Once

	mu      sync.Mutex // guards what taps touch; taken inside writing
	filling *batch
	devices []*device
	closed  bool

	writing sync.Mutex // guards what the writer touches
	full    *batch     // empty between two drains
	names   []string   // of the devices that the sinks know
	outputs []output
	record  Record
	frame   [1][]byte
}

// device is the tap of one device.
type device struct {
	rec    *Recorder
	number int
	gap    uint64 // packets lost since the last one recorded
	DeviceStats
}

// output is a sink and what became of it.
type output struct {
	sink Sink
	err  error
}

// NewRecorder starts a recorder whose own goroutine writes to the sinks until
// Close. The buffer is the bytes of frames that taps can fill while the writer is
// busy; it is allocated twice. Use [DefaultBuffer] unless there is a reason.
func NewRecorder(buffer int, sinks ...Sink) *Recorder {
	r := newRecorder(buffer, sinks)
	go r.run()
	return r
}

// NewSync returns a recorder without a goroutine: every packet is written before
// the tap returns. The same events give the same bytes, as simulated worlds need
// it, and no buffer runs full; but the device waits for the sinks.
func NewSync(sinks ...Sink) *Recorder {
	r := newRecorder(syncBuffer, sinks)
	r.synchronous = true
	close(r.done)
	return r
}

func newRecorder(buffer int, sinks []Sink) *Recorder {
	r := &Recorder{
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		filling: newBatch(buffer),
		full:    newBatch(buffer),
	}
	for _, s := range sinks {
		r.outputs = append(r.outputs, output{sink: s})
	}
	return r
}

// Device adds a device to the recording and returns its tap. The name appears as
// the capture's interface, the JSON lines' device and the ladder's column.
func (r *Recorder) Device(name string) Tap {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &device{rec: r, number: len(r.devices), DeviceStats: DeviceStats{Name: name}}
	r.devices = append(r.devices, d)
	return d
}

// Packet implements [Tap].
func (d *device) Packet(e *Event) {
	r := d.rec
	if r.synchronous {
		r.writing.Lock()
		defer r.writing.Unlock()
		d.keep(e)
		r.drain()
		return
	}
	if d.keep(e) {
		select {
		case r.wake <- struct{}{}:
		default: // the writer is coming
		}
	}
}

// keep copies the event, or counts it as lost, and reports whether the writer
// should come at once.
func (d *device) keep(e *Event) (hurry bool) {
	r := d.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.filling.put(d.number, d.gap, e) {
		d.Lost++
		d.gap++
		return false // a full buffer has called the writer when it was half full
	}
	d.Recorded++
	d.gap = 0
	return r.filling.halfFull()
}

// Stats returns what was counted up to now.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Devices: make([]DeviceStats, len(r.devices))}
	for i, d := range r.devices {
		s.Devices[i] = d.DeviceStats
	}
	return s
}

// Flush writes everything recorded before the call and flushes the sinks. The
// error joins those of the sinks that failed so far.
func (r *Recorder) Flush() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.drain()
	r.each(Sink.Flush)
	return r.err()
}

// Close writes what is left, ends the sinks' output and stops the writer. Packets
// that come later are counted as lost. The error joins those of the sinks; a
// second Close returns the same.
func (r *Recorder) Close() error {
	r.closing.Do(r.close)
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.err()
}

func (r *Recorder) close() {
	close(r.stop)
	<-r.done
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()

	r.writing.Lock()
	defer r.writing.Unlock()
	r.drain()
	counted := r.Stats()
	r.each(func(s Sink) error { return s.Close(counted) })
}

// run is the writer's goroutine.
func (r *Recorder) run() {
	defer close(r.done)
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
		case <-tick.C:
		case <-r.stop:
			return
		}
		// A sink that fails is not called again; Close returns its error.
		_ = r.Flush()
	}
}

// drain lets the buffers change places and gives the full one to the sinks.
// Writing is held.
func (r *Recorder) drain() {
	added := r.swap()
	for _, d := range added {
		r.names = append(r.names, d.Name)
		r.each(func(s Sink) error { return s.Device(d.Name) })
	}
	for i := range r.full.packets {
		r.write(&r.full.packets[i])
	}
	r.full.empty()
}

// swap returns the devices that are new since the last one.
func (r *Recorder) swap() (added []*device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.filling, r.full = r.full, r.filling
	return r.devices[len(r.names):]
}

// write gives one packet to the sinks.
func (r *Recorder) write(k *kept) {
	rec := &r.record
	r.frame[0] = r.full.frames[k.start:k.end]
	rec.Event, rec.Device, rec.Name, rec.Lost = k.event, k.device, r.names[k.device], k.lost
	rec.Frame = r.frame[:]
	rec.parse()
	r.each(func(s Sink) error { return s.Packet(rec) })
}

// each calls the sinks that still work.
func (r *Recorder) each(call func(Sink) error) {
	for i := range r.outputs {
		if o := &r.outputs[i]; o.err == nil {
			o.err = call(o.sink)
		}
	}
}

func (r *Recorder) err() error {
	var errs []error
	for _, o := range r.outputs {
		errs = append(errs, o.err)
	}
	return errors.Join(errs...)
}
