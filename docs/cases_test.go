package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// caseIDs are the cases that the page must have.
const caseIDs = "E01 E03 E04 E05 E06 E09 E11 E12 E13 E14 X01 X02 X04 X05 X06 X09 W15"

var (
	// caseRow is a row of the table of cases.
	caseRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d\d) \| [^|]+ \| ([^|]+) \| [^|]+ \|$`)
	// caseTest is one of the tests of a row, of which there are several.
	caseTest = regexp.MustCompile("^`([^`]+)` ((?:Test|Benchmark)\\w+)$")
)

// TestCasesHaveTests proves that the page has every case, that every test that it names
// exists, and that one of those of a case has its id in its comment.
func TestCasesHaveTests(t *testing.T) {
	page := readPage(t, "cases.md")
	var ids []string
	for _, row := range caseRow.FindAllStringSubmatch(page, -1) {
		id, named := row[1], false
		ids = append(ids, id)
		for _, entry := range strings.Split(row[2], ", ") {
			m := caseTest.FindStringSubmatch(entry)
			require.NotNil(t, m, "%s: %q does not have the form `package` TestName", id, entry)
			comment, found := commentOf(t, filepath.Join(root, strings.TrimPrefix(m[1], "roce")), m[2])
			require.True(t, found, "%s: package %s has no %s", id, m[1], m[2])
			named = named || strings.Contains(comment, id)
		}
		require.True(t, named, "no test of %s names it in its comment", id)
	}
	require.Equal(t, strings.Fields(caseIDs), ids)
	require.Len(t, ids, tableRows(page), "a row does not have the form | id | situation | tests | what they show |")
}

// commentOf returns the comment of a test, and whether there is such a test.
func commentOf(t *testing.T, dir, name string) (comment string, found bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
				return fn.Doc.Text(), true
			}
		}
	}
	return "", false
}
