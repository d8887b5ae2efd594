// Package testenv tells a test what surrounds it: what this machine offers, which
// seed to use, whether the race detector slows it down, whether its long form was
// asked for.
//
// Five environment variables speak to the tests:
//
//   - ROCE_TEST_REQUIRE=root,netns,tshark,interop lists features that must be
//     there: a test that misses one of them fails instead of skipping, so that a
//     run which has to cover them cannot pass by testing nothing. make then lets no
//     test skip but those that .ci/skips names.
//   - TEST_SEED repeats a random test with the seed that it printed.
//   - ROCE_FULL=1 asks for the long form of soak and interoperability tests.
//   - ROCE_FUZZ_N (package fuzzing) is the number of inputs of a fuzz target.
//   - ROCE_LEDGER=1 (package ledger) makes long runs log themselves.
//
// It is for tests only.
package testenv
