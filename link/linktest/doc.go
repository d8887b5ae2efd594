// Package linktest is the conformance suite for implementations of [link.Link]: a
// link that passes it can carry an engine.
package linktest
