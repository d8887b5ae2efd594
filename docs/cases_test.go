package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// caseIDs are the cases that the page must have tests for, and waitingIDs those that wait.
const (
	caseIDs = "W01 W02 W03 W05 W06 W07 W08 W09 W13 W15 W16 " +
		"R01 R02 R04 R05 R07 R08 R11 R12 R15 R16 R18 R19 R21 R22 R24 R25 R27 R29 R30 " +
		"C01 C02 C03 C04 C06 C08 C10 C11 C13 C14 C16 C18 C19 C21 C22 C23 " +
		"I01 I02 I04 I06 " +
		"E01 E03 E04 E05 E06 E09 E11 E12 E13 E14 " +
		"X01 X02 X04 X05 X06 X09 " +
		"M05 " +
		"T01 T02 " +
		"D01 D02 D04"
	waitingIDs = "R23 I07 M01 M02 M04 M08 M09"
)

var (
	// caseRow is a row of the table of cases.
	caseRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d\d) \| [^|]+ \| ([^|]+) \| [^|]+ \|$`)
	// waitingRow is a row of the table of cases that wait.
	waitingRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d\d) \| [^|]+ \| [^|]+ \|$`)
	// caseTest is one of the tests of a row, of which there are several.
	caseTest = regexp.MustCompile("^`([^`]+)` ((?:Test|Benchmark)\\w+)$")
)

// TestCasesHaveTests proves that the page has every case, that every test that it names
// exists, that one of those of a case has its id in its comment, and which cases wait.
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
	var waiting []string
	for _, row := range waitingRow.FindAllStringSubmatch(page, -1) {
		waiting = append(waiting, row[1])
	}
	require.Equal(t, strings.Fields(waitingIDs), waiting)
	require.Equal(t, len(ids)+len(waiting), tableRows(page),
		"a row has neither the form | id | situation | tests | what they show | nor | id | situation | what it waits for |")
}

// commentOf returns the comment of a test, and whether there is such a test.
func commentOf(t *testing.T, dir, name string) (comment string, found bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range paths {
		if fn := function(t, file, name); fn != nil {
			return fn.Doc.Text(), true
		}
	}
	return "", false
}
