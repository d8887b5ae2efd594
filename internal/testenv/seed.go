package testenv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedEnv repeats a random test.
const seedEnv = "TEST_SEED"

// Seed returns the seed of a random test and prints how to repeat the test with
// it. The seed is TEST_SEED (decimal, or hexadecimal with 0x) where that is set,
// else a new one.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, set := SeedFromEnv(t)
	if !set {
		seed = rand.Uint64()
	}
	t.Logf("seed %d; repeat with %s=%d go test -run '^%s$'", seed, seedEnv, seed, t.Name())
	return seed
}

// SeedFromEnv returns TEST_SEED and whether it is set. A value that is no number
// fails the test.
func SeedFromEnv(t testing.TB) (seed uint64, set bool) {
	t.Helper()
	s, set := os.LookupEnv(seedEnv)
	if !set {
		return 0, false
	}
	seed, err := parseSeed(s)
	if err != nil {
		t.Fatal(err)
	}
	return seed, true
}

func parseSeed(s string) (uint64, error) {
	seed, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w; give a number from 0 to 2^64-1", seedEnv, err)
	}
	return seed, nil
}
