package testenv

import "os"

// Full reports whether the long form of soak and interoperability tests was asked
// for, with ROCE_FULL=1. The short form proves the same on fewer rounds.
func Full() bool { return os.Getenv("ROCE_FULL") == "1" }
