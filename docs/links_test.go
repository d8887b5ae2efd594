package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// troubleRow is a row of the table of errors: its first column begins with a piece of
// the error's text.
var troubleRow = regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]*\\|[^|]+\\|[^|]+\\|$")

// TestLinksPageQuotesTheCode proves that every error that the page explains is in the
// code, in these words.
func TestLinksPageQuotesTheCode(t *testing.T) {
	_, trouble, found := strings.Cut(readPage(t, "links.md"), "\n## Trouble\n")
	require.True(t, found)
	rows := troubleRow.FindAllStringSubmatch(trouble, -1)
	require.Len(t, rows, tableRows(trouble), "a row does not have the form | `text of the error` | meaning | what to do |")
	code := allCode(t)
	for _, m := range rows {
		require.Contains(t, code, m[1])
	}
}

// TestLinksPageCommandsExist proves that every command that the page tells to type is
// there, with the flags that it is given.
func TestLinksPageCommandsExist(t *testing.T) {
	var lines []string
	for line := range strings.Lines(code(readPage(t, "links.md"))) {
		command, _, _ := strings.Cut(line, "#") // a comment says what it does
		lines = append(lines, " "+strings.TrimSpace(command))
	}
	text := strings.Join(lines, "\n")
	roci := buildProgram(t, "cmd/roci")
	help := func(name string) []string { return []string{roci, name, "--help"} }
	checkCommands(t, rociPattern.FindAllStringSubmatch(text, -1), "--", help)
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// allCode is the text of all Go files but tests.
func allCode(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	}))
	return b.String()
}
