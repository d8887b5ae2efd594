// Matrix makes docs/interop.md from docs/interop.jsonl. Run it in the module's root.
package main

import (
	"fmt"
	"os"

	"github.com/rocinante-rdma/roce/interop"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run() error {
	rows, err := interop.Read("docs/interop.jsonl")
	if err != nil {
		return err
	}
	return os.WriteFile("docs/interop.md", interop.Page(rows), 0o644)
}
