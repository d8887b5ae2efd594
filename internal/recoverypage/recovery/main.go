// Command recovery makes docs/recovery.md, in the root of the module:
//
//	go run ./internal/recoverypage/recovery            of the raw results that are there
//	go run ./internal/recoverypage/recovery -measure   measures before
package main

import (
	"bytes"
	"fmt"

	"github.com/rocinante-rdma/roce/internal/rawpage"
	"github.com/rocinante-rdma/roce/internal/recoverypage"
)

func main() {
	rawpage.Main(rawpage.Page{Raw: "docs/recovery.jsonl", Page: "docs/recovery.md", Measure: measure, Make: makePage})
}

func measure() ([]byte, error) {
	var raw bytes.Buffer
	for _, c := range recoverypage.Cases() {
		r, err := recoverypage.Measure(c)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", c, err)
		}
		if err := recoverypage.Write(&raw, r); err != nil {
			return nil, err
		}
	}
	return raw.Bytes(), nil
}

func makePage(raw []byte) (string, error) {
	results, err := recoverypage.Read(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	return recoverypage.Page(results)
}
