package metrics

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocinante-rdma/roce"
)

// Collector collects the counters of devices. Its methods are safe for concurrent use.
type Collector struct {
	mu      sync.Mutex
	devices []*roce.Device
}

// NewCollector returns a collector for devices that are open already, or for none yet.
func NewCollector(devices ...*roce.Device) *Collector {
	return &Collector{devices: slices.Clone(devices)}
}

// Add has a device collected too. Devices are told apart by their names, so no two may
// have the same one.
func (c *Collector) Add(d *roce.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.devices = append(c.devices, d)
}

// Remove has a device collected no more. Until then a closed one shows what it counted
// last.
func (c *Collector) Remove(d *roce.Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.devices = slices.DeleteFunc(c.devices, func(e *roce.Device) bool { return e == d })
}

// descriptions are the metrics, one for each counter, and the one for what has no
// counter of its own.
var descriptions, statDescription = describe()

func describe() (all [roce.NumCounters]*prometheus.Desc, stat *prometheus.Desc) {
	for id := range roce.NumCounters {
		help := fmt.Sprintf("%s: %s (%s)", id.Unit(), id.Help(), id.Side())
		all[id] = prometheus.NewDesc("roce_"+id.String()+"_total", help, []string{"device"}, nil)
	}
	stat = prometheus.NewDesc("roce_stat_total",
		"all that the device and its link count, in words: for each rule of the protocol the packets whose fate it decided, for each cause the packets sent, and what the link dropped",
		[]string{"device", "stat"}, nil)
	return all, stat
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		out <- d
	}
	out <- statDescription
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	devices := slices.Clone(c.devices)
	c.mu.Unlock()
	for _, d := range devices {
		collect(d, out)
	}
}

func collect(d *roce.Device, out chan<- prometheus.Metric) {
	name := d.Name()
	for id, n := range d.Counters().All() {
		out <- prometheus.MustNewConstMetric(descriptions[id], prometheus.CounterValue, float64(n), name)
	}
	for _, s := range d.Stats() {
		out <- prometheus.MustNewConstMetric(statDescription, prometheus.CounterValue, float64(s.Value), name, s.Name)
	}
}
