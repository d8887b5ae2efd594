// Package congestionlab is the command roci congestion: it runs the real stack over a
// simulated network with one bottleneck, in virtual time, and writes down what congestion
// control makes of it.
//
// In the order of the files: a [Scenario] (scenario.go) is built of what it has different
// from the default (build.go), which files (file.go) and flags give as keys (keys.go,
// kinds.go) with values and units (units.go). [Run] (run.go) plays it: it makes a world of
// devices (lab.go), keeps their flows going (flow.go) and watches the bottleneck
// (watch.go). A [Result] (result.go) has the curves, and is summed up (summary.go,
// fairness.go). An [Album] (album.go) plays scenarios (play.go) and keeps what is to be
// seen of them: plots (figures.go) and tables (samples.go, table.go).
package congestionlab
