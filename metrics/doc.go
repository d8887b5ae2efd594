// Package metrics shows the counters of RoCE devices to Prometheus, under the names that
// operators know from RDMA adapters: roce_out_of_sequence_total{device="udp 10.0.0.1"}.
//
//	http.Handle("/metrics", metrics.Handler(dev))
//
// A program that has a registry of its own registers a [Collector] there instead.
// docs/counters.md explains every counter. Scraping costs the device some nanoseconds for
// each queue pair; traffic costs nothing more for being counted.
package metrics
