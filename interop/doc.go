// Package interop holds the tests against another implementation: the Linux kernel's
// rdma_rxe, in virtual machines that package guest boots.
//
// What the tests found in their long form (ROCE_FULL=1) is kept as rows of
// docs/interop.jsonl, from which docs/interop.md is made.
package interop
