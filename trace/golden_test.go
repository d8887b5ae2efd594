package trace

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares output with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what was written (go test -update accepts it):\n%s", path, got)
	}
}

// The same events through the synchronous recorder give these very bytes, in every
// run and on every machine.
func TestGolden(t *testing.T) {
	for range 2 {
		var capture, lines, ladder bytes.Buffer
		record(t,
			NewPcapng(&capture, time.Time{}),
			NewJSONLines(&lines, time.Time{}),
			NewLadder(&ladder, LadderOptions{}))
		golden(t, "conversation.pcapng", capture.Bytes())
		golden(t, "conversation.jsonl", lines.Bytes())
		golden(t, "conversation.txt", ladder.Bytes())
	}
}
