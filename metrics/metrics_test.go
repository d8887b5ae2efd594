package metrics_test

import (
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce"
	"github.com/rocinante-rdma/roce/metrics"
	"github.com/rocinante-rdma/roce/simnet"
)

// busyDevices are two devices, of which "a" has written to "b" over a wire that lost a
// packet.
func busyDevices(t *testing.T) (a, b *roce.Device) {
	t.Helper()
	w := simnet.New(1)
	open := func(name, addr string) (*roce.Device, *roce.QP, *roce.MR) {
		dev, err := roce.Open(w.Link(name, netip.MustParseAddr(addr)), roce.Manual())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		w.Attach(dev)
		pd, err := dev.AllocPD()
		require.NoError(t, err)
		cq, err := dev.CreateCQ(8)
		require.NoError(t, err)
		qp, err := pd.CreateQP(roce.QPConfig{SendCQ: cq})
		require.NoError(t, err)
		mr, err := pd.RegMR(make([]byte, 8<<10), roce.AccessLocalWrite|roce.AccessRemoteWrite)
		require.NoError(t, err)
		return dev, qp, mr
	}
	a, qpA, mrA := open("a", "10.0.0.1")
	b, qpB, mrB := open("b", "10.0.0.2")
	require.NoError(t, qpA.Connect(qpB.Info()))
	require.NoError(t, qpB.Connect(qpA.Info()))
	w.Faults.Add(simnet.Drop(simnet.Match{From: "a", Nth: 2}))
	there := mrB.Remote()
	_, err := qpA.PostSend(roce.SendWR{Op: roce.OpWrite, SGE: mrA.SGE(0, 8<<10), RemoteAddr: there.Addr, RKey: there.Key})
	require.NoError(t, err)
	require.NoError(t, w.Run(w.Now().Add(time.Second)))
	return a, b
}

// scrape returns, by the metrics' names, what the devices have by their names.
func scrape(t *testing.T, devices ...*roce.Device) map[string]map[string]float64 {
	t.Helper()
	page := httptest.NewRecorder()
	metrics.Handler(devices...).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, page.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page.Body)
	require.NoError(t, err)
	all := map[string]map[string]float64{}
	for name, f := range families {
		require.NotEmpty(t, f.GetHelp(), name)
		all[name] = map[string]float64{}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				key += l.GetName() + "=" + l.GetValue() + " "
			}
			require.NotNil(t, m.Counter, name)
			all[name][key] = m.GetCounter().GetValue()
		}
	}
	return all
}

// TestScrape proves that Prometheus gets every counter of every device, with the values
// that the device tells, and the numbers by rule.
func TestScrape(t *testing.T) {
	a, b := busyDevices(t)
	got := scrape(t, a, b)
	for _, dev := range []*roce.Device{a, b} {
		key := "device=" + dev.Name() + " "
		for id, n := range dev.Counters().All() {
			require.Equal(t, float64(n), got["roce_"+id.String()+"_total"][key], "%s of %s", id, dev.Name())
			require.Contains(t, got["roce_"+id.String()+"_total"], key)
		}
		for _, s := range dev.Stats() {
			require.Equal(t, float64(s.Value), got["roce_stat_total"][key+"stat="+s.Name+" "], s.Name)
		}
	}
	require.Len(t, got, int(roce.NumCounters)+1)
	require.EqualValues(t, 1, got["roce_packet_seq_err_total"]["device="+a.Name()+" "])
	require.EqualValues(t, 6, got["roce_out_of_sequence_total"]["device="+b.Name()+" "], "of 8 packets the first came, and the second was lost")
}

// TestDevicesComeAndGo proves that a program may open and close devices while it is
// scraped.
func TestDevicesComeAndGo(t *testing.T) {
	a, b := busyDevices(t)
	c := metrics.NewCollector()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	devices := func() int {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "roce_rx_packets_total" {
				return len(f.GetMetric())
			}
		}
		return 0
	}
	require.Equal(t, 0, devices())
	c.Add(a)
	c.Add(b)
	require.Equal(t, 2, devices())
	require.NoError(t, a.Close())
	require.Equal(t, 2, devices(), "closed, it shows what it counted last")
	c.Remove(a)
	require.Equal(t, 1, devices())
}
