package rc_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rocinante-rdma/roce/cq"
	"github.com/rocinante-rdma/roce/internal/ledger"
	"github.com/rocinante-rdma/roce/internal/testenv"
	"github.com/rocinante-rdma/roce/qp"
)

// The model: many short histories of random operations under wild parameters, over a
// wire that loses, doubles, delays, reorders and corrupts, held against an oracle of
// memory, order and exactly-once. What fails is made small, and told as a
// conversation. Long histories, and everything above the machines, are the soaks'.
//
// Histories come in batches of modelBatch. The seed of a batch is the number of
// operations that were executed before it: so a run that begins where the ledger ends
// repeats none, and any logged run can be repeated.

const (
	modelLedger = "rc.TestModel"
	modelBatch  = 100 // histories

	// Operations of a run.
	modelShort = 100_000
	modelRace  = 15_000
	modelLong  = 10_000_000
)

// TestModel repeats how the last logged runs began, and goes on with new histories:
// from TEST_SEED on if that is set, else from the end of the ledger. -rapid.seed and
// -rapid.failfile repeat a single failure, as its message says.
func TestModel(t *testing.T) {
	var met modelMet
	if flag.Lookup("rapid.seed").Value.String() != "0" || flag.Lookup("rapid.failfile").Value.String() != "" {
		rapid.Check(t, met.check)
		return
	}
	first, set := testenv.SeedFromEnv(t)
	if !set {
		first = replayModel(t, &met)
	}
	n := modelOperations()
	begun := met.operations
	for met.operations-begun < n {
		runModelBatch(t, first+met.operations-begun, &met)
	}
	t.Logf("operations %d to %d, %d histories", first, first+met.operations-begun, met.histories)
	t.Log(met.String())
	met.require(t)
	if testenv.Full() {
		ledger.Append(t, ledger.Run{Test: modelLedger, Seed: first, Executions: met.operations - begun})
	}
}

func modelOperations() uint64 {
	switch {
	case testenv.Full():
		return modelLong
	case testenv.Race:
		return modelRace
	}
	return modelShort
}

// replayModel repeats the first batch of each of the last logged runs, and returns
// where they end.
func replayModel(t *testing.T, met *modelMet) (end uint64) {
	t.Helper()
	runs, err := ledger.Runs()
	require.NoError(t, err)
	runs = slices.DeleteFunc(runs, func(r ledger.Run) bool { return r.Test != modelLedger })
	for _, r := range runs {
		end = max(end, r.Seed+r.Executions)
	}
	for _, r := range runs[max(len(runs)-3, 0):] {
		runModelBatch(t, r.Seed, met)
	}
	return end
}

// runModelBatch runs the histories of a seed.
func runModelBatch(t *testing.T, seed uint64, met *modelMet) {
	t.Helper()
	// Multiplied, the seeds of different batches lie apart; 0 would be a random one.
	setRapid(t, "rapid.seed", strconv.FormatUint((seed+1)*0x9e3779b97f4a7c15, 10))
	setRapid(t, "rapid.checks", strconv.Itoa(modelBatch))
	rapid.Check(quiet{t}, met.check)
	if t.Failed() {
		t.Fatalf("in the batch of TEST_SEED=%d", seed)
	}
}

// setRapid sets a flag of rapid, which has no other way to be told.
func setRapid(t *testing.T, name, value string) {
	t.Helper()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { _ = flag.Set(name, flag.Lookup(name).DefValue) })
}

// quiet is a test that says nothing of batches that pass.
type quiet struct{ *testing.T }

func (q quiet) Logf(format string, args ...any) {
	if !strings.HasPrefix(format, "[rapid] OK") {
		q.T.Logf(format, args...)
	}
}

// check is the property: whatever the history, the machines do what the oracle allows.
func (m *modelMet) check(t *rapid.T) {
	h := drawModelHistory(t)
	met, err := h.run(nil)
	if err != nil {
		var log []string
		_, _ = h.run(&log)
		t.Fatalf("%v\n%s\n%s", err, h, strings.Join(excerpt(log), "\n"))
	}
	m.add(&met)
}

// excerpt leaves the middle of a long conversation out.
func excerpt(log []string) []string {
	const edge = 80
	if len(log) <= 2*edge {
		return log
	}
	return slices.Concat(log[:edge], []string{fmt.Sprintf("… %d lines …", len(log)-2*edge)}, log[len(log)-edge:])
}

// String tells what was met.
func (m *modelMet) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d completions; send queues drained: %d; packets", m.histories, m.operations, m.drained)
	for f, n := range m.faults {
		fmt.Fprintf(&b, ", %s: %d", modelFault(f), n)
	}
	b.WriteString("; success")
	for op, n := range m.succeeded {
		fmt.Fprintf(&b, ", %s: %d", qp.Op(op), n)
	}
	b.WriteString("; completions")
	for s, n := range m.statuses {
		if n != 0 {
			fmt.Fprintf(&b, ", %s: %d", cq.Status(s), n)
		}
	}
	return b.String()
}

// require fails a run that did not meet everything: it would prove nothing.
func (m *modelMet) require(t *testing.T) {
	t.Helper()
	require.NotZero(t, m.drained)
	for f, n := range m.faults {
		require.NotZero(t, n, modelFault(f))
	}
	for op, n := range m.succeeded {
		require.NotZero(t, n, qp.Op(op))
	}
	for _, s := range []cq.Status{
		cq.StatusSuccess, cq.StatusLocalLength, cq.StatusLocalQPOperation, cq.StatusLocalProtection, cq.StatusFlushed,
		cq.StatusRemoteInvalid, cq.StatusRemoteAccess, cq.StatusRetryExceeded, cq.StatusRNRRetryExceeded,
	} {
		require.NotZero(t, m.statuses[s], s)
	}
}
