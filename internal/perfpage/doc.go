// Package perfpage makes docs/perf.md of the raw results in docs/perf: reads Go's
// benchmark format, and writes tables of medians, spreads and ratios.
//
// Results are measured in rounds, each of which runs every benchmark once. A ratio
// is taken within each round, of numbers that were measured seconds apart, before
// the median is taken over the rounds: what slows the whole machine down for a while
// then weighs on both sides of it.
//
// results.go reads; spread.go is the arithmetic; tables.go and linktables.go say what
// is compared with what, prototype.go what a prototype reached; page.go and page.md
// write.
package perfpage
