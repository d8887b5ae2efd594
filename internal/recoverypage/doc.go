// Package recoverypage makes docs/recovery.md: what loss costs, with and without what the
// two ends do to send only again what was lost. It measures on the simulated network, in
// virtual time, so that everybody who repeats a measurement gets the same number.
//
// measure.go is one measurement, and the two ends of it; results.go the raw results;
// page.go and page.md write.
package recoverypage
