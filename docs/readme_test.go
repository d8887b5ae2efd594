package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const readme = root + "/README.md"

func readReadme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	return string(text)
}

// block is a code block of the README: its language, and the comment before it that
// says where it comes from.
type block struct{ source, language, text string }

var blockPattern = regexp.MustCompile("(?s)(?:<!-- from ([^ ]+) -->\n)?```(\\w*)\n(.*?)```\n")

func readmeBlocks(t *testing.T) (blocks []block) {
	t.Helper()
	for _, m := range blockPattern.FindAllStringSubmatch(readReadme(t), -1) {
		blocks = append(blocks, block{m[1], m[2], m[3]})
	}
	return blocks
}

// TestReadmeCodeIsTheExamples proves that the Go code in the README compiles: every
// block is a piece of the example that it names.
func TestReadmeCodeIsTheExamples(t *testing.T) {
	found := 0
	for _, b := range readmeBlocks(t) {
		if b.language != "go" {
			continue
		}
		found++
		require.NotEmpty(t, b.source, "a block of Go code without <!-- from FILE --> before it:\n%s", b.text)
		source, err := os.ReadFile(filepath.Join(root, b.source))
		require.NoError(t, err)
		require.Contains(t, string(source), "\n"+b.text, "the README's code is not a piece of %s", b.source)
	}
	require.Positive(t, found)
}

var (
	rociPattern = regexp.MustCompile("(?:^|[`$ ])(?:roci|go run \\./cmd/roci) ([a-z]+)([^`\n]*)")
	runPattern  = regexp.MustCompile(`go run \./(examples/\w+)([^\n]*)`)
	makePattern = regexp.MustCompile("(?:^|[`$ ])make ([a-z][a-z-]*)")
	flagPattern = regexp.MustCompile(`(?:^| )--?([a-z][a-z-]*)`)
	linkPattern = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

// code is what is set as code: blocks that are shell commands, and `spans`.
func code(text string) string {
	var parts []string
	for _, m := range blockPattern.FindAllStringSubmatch(text, -1) {
		if m[2] == "sh" {
			parts = append(parts, m[3])
		}
	}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(blockPattern.ReplaceAllString(text, ""), -1) {
		parts = append(parts, m[1])
	}
	return strings.Join(parts, "\n")
}

// TestReadmeCommandsExist proves that every command that the README tells to type is
// there, with the flags that it is given.
func TestReadmeCommandsExist(t *testing.T) {
	var lines []string
	for line := range strings.Lines(code(readReadme(t))) {
		command, _, _ := strings.Cut(line, "#") // a comment says what it does
		lines = append(lines, " "+strings.TrimSpace(command))
	}
	text := strings.Join(lines, "\n")
	roci := buildProgram(t, "cmd/roci")
	checkCommands(t, rociPattern.FindAllStringSubmatch(text, -1), "--", func(name string) []string { return []string{roci, name, "--help"} })
	checkCommands(t, runPattern.FindAllStringSubmatch(text, -1), "-", func(name string) []string { return []string{buildProgram(t, name), "-h"} })
	targets := makePattern.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, targets)
	for _, m := range targets {
		out, err := exec.Command("make", "-C", root, "-n", m[1]).CombinedOutput()
		require.NoError(t, err, "make %s: %s", m[1], out)
	}
}

// checkCommands has each command print its help, which must have every flag used.
func checkCommands(t *testing.T, uses [][]string, dashes string, help func(name string) []string) {
	t.Helper()
	require.NotEmpty(t, uses)
	for _, m := range uses {
		args := help(m[1])
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", m[1], out)
		for _, f := range flagPattern.FindAllStringSubmatch(m[2], -1) {
			require.Contains(t, string(out), " "+dashes+f[1], "%s", m[0])
		}
	}
}

func buildProgram(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./"+filepath.Join(root, pkg)).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// TestReadmeLinks proves that the files that the README links to are there.
func TestReadmeLinks(t *testing.T) {
	links := linkPattern.FindAllStringSubmatch(readReadme(t), -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(root, m[1]))
		require.NoError(t, err)
	}
}

// TestReadmeShowsTheDemo proves that what the README shows of the demo is what the
// demo prints: piece by piece between the dots, all but numbers and the lengths of
// arrows.
func TestReadmeShowsTheDemo(t *testing.T) {
	shown := readmeBlocks(t)[slices.IndexFunc(readmeBlocks(t), func(b block) bool { return b.language == "text" })].text
	file := filepath.Join(t.TempDir(), "demo.pcapng")
	out, err := exec.Command(buildProgram(t, "cmd/roci"), "demo", "--out", file).CombinedOutput()
	require.NoError(t, err, string(out))
	if strings.Contains(string(out), "Not over UDP") {
		t.Skipf("the README shows the demo over UDP, which is not to be had here:\n%s", out)
	}
	rest := words(strings.ReplaceAll(string(out), file, "FILE"))
	for _, piece := range strings.Split(shown, "…\n") {
		want := words(strings.ReplaceAll(piece, "/tmp/roci-demo-2718281828.pcapng", "FILE"))
		at := find(rest, want)
		require.GreaterOrEqual(t, at, 0, "the demo does not print this, after what comes before it in the README:\n%s\nbut:\n%s", piece, out)
		rest = rest[at+len(want):]
	}
}

// TestReadmeShowsCongestion proves that what the README shows of roci congestion is what it
// prints, to the letter: piece by piece between the dots.
func TestReadmeShowsCongestion(t *testing.T) {
	blocks := readmeBlocks(t)
	shown := blocks[slices.IndexFunc(blocks, func(b block) bool { return strings.HasPrefix(b.text, "from ") })].text
	out, err := exec.Command(buildProgram(t, "cmd/roci"), "congestion", "--compare", "--out", t.TempDir()).CombinedOutput()
	require.NoError(t, err, string(out))
	_, rest, _ := strings.Cut(string(out), "\n\n")
	for _, piece := range strings.Split(shown, "…\n") {
		at := strings.Index(rest, piece)
		require.GreaterOrEqual(t, at, 0, "this is not printed, after what comes before it in the README:\n%s\nbut:\n%s", piece, out)
		rest = rest[at+len(piece):]
	}
}

// words is text as its words, numbers made equal and drawings left out.
func words(text string) []string {
	text = regexp.MustCompile(`[─│┬◀▶]+`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(`\b(0x[0-9a-f]+|[0-9][0-9.,]*)`).ReplaceAllString(text, "N")
	return strings.Fields(text)
}

// find returns where the words of a piece stand together, the first one in front;
// the others may change places, as the words at both ends of an arrow do when there
// is less room.
func find(all, piece []string) int {
	sorted := slices.Sorted(slices.Values(piece))
	for i := 0; i+len(piece) <= len(all); i++ {
		if all[i] == piece[0] && slices.Equal(slices.Sorted(slices.Values(all[i:i+len(piece)])), sorted) {
			return i
		}
	}
	return -1
}
