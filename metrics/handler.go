package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocinante-rdma/roce"
)

// Handler answers scrapes with the counters of these devices, and nothing else.
func Handler(devices ...*roce.Device) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewCollector(devices...))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
