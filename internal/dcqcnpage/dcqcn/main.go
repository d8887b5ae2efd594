// Command dcqcn makes docs/dcqcn.md, in the root of the module:
//
//	go run ./internal/dcqcnpage/dcqcn            of the raw results that are there
//	go run ./internal/dcqcnpage/dcqcn -measure   measures before, and draws the pictures
package main

import (
	"bytes"
	"os"

	"github.com/rocinante-rdma/roce/internal/dcqcnpage"
	"github.com/rocinante-rdma/roce/internal/rawpage"
)

// pictures is where those of the page are.
const pictures = "docs/dcqcn"

func main() {
	rawpage.Main(rawpage.Page{Raw: "docs/dcqcn.jsonl", Page: "docs/dcqcn.md", Measure: measure, Make: makePage})
}

// measure makes the raw results, and draws the pictures.
func measure() ([]byte, error) {
	results, err := dcqcnpage.Measure()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return nil, err
	}
	if err := dcqcnpage.Curves(pictures); err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	err = results.Write(&raw)
	return raw.Bytes(), err
}

func makePage(raw []byte) (string, error) {
	results, err := dcqcnpage.Read(raw)
	if err != nil {
		return "", err
	}
	return dcqcnpage.Page(results)
}
