// Package importrules holds the tests of who may import whom (docs/architecture.md).
//
// The rules are checked over the direct imports of every file of the module,
// whatever its build tags: a forbidden import is caught on any system, and it is
// named where it stands. Transitive imports prove nothing, since fmt itself reaches
// os; only what a user of the root package gets to build is checked in depth.
package importrules
