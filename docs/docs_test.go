// Package docs_test holds the documents against the code: what they name must exist.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = ".."

// mapRow is a row of a table whose last two columns are code and test.
var mapRow = regexp.MustCompile("(?m)^\\|.*\\| `([^`]+\\.go)` (\\w+) \\| `([^`]+)` (Test\\w+) \\|$")

// TestSpecMapNamesWhatExists proves that every function and every test that the spec
// map names is there.
func TestSpecMapNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile("spec-map.md")
	require.NoError(t, err)
	rows := mapRow.FindAllStringSubmatch(string(text), -1)
	for _, m := range rows {
		require.True(t, declares(t, filepath.Join(root, m[1]), m[2]), "%s has no function %s", m[1], m[2])
		require.True(t, declaresTest(t, filepath.Join(root, m[3]), m[4]), "package %s has no %s", m[3], m[4])
	}
	require.Len(t, rows, tableRows(string(text)), "a row does not have the form | … | `file.go` function | `package` TestName |")
}

// tableRows counts the rows of all tables, without their heads.
func tableRows(text string) int {
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "|---"):
			rows-- // the line above was the head
		case strings.HasPrefix(line, "|"):
			rows++
		}
	}
	return rows
}

func declaresTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, f := range files {
		if declares(t, f, name) {
			return true
		}
	}
	return false
}

// declares reports whether a file has a function or method of a name.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	return function(t, file, name) != nil
}

// function returns a function or method of a file, or nil.
func function(t *testing.T, file, name string) *ast.FuncDecl {
	t.Helper()
	for _, d := range parsed(t, file).Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// trees are of the files that were parsed: the pages name each of them many times.
var trees = make(map[string]*ast.File)

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f := trees[file]
	if f == nil {
		var err error
		f, err = parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		trees[file] = f
	}
	return f
}
