package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const capture = "../../trace/decode/testdata/captures/vt_err_rnr_once.pcap"

// roci runs the command in this process.
func roci(args ...string) (out string, err error) {
	var b bytes.Buffer
	root := newRoot()
	root.SetOut(&b)
	root.SetErr(&b)
	root.SetArgs(args)
	err = root.Execute()
	return b.String(), err
}

// The three formats are what they say.
func TestTraceFormats(t *testing.T) {
	list, err := roci("trace", capture)
	require.NoError(t, err)
	require.Contains(t, list, "10.10.0.3 QP 0x57 → 10.10.0.2 QP 0x56  SEND Only PSN 1280 (64 B)  ◂ retransmission of 10")
	ladder, err := roci("trace", "--ladder", capture)
	require.NoError(t, err)
	require.Contains(t, ladder, "─▶│")
	lines, err := roci("trace", "--json", capture)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// Each filter flag reaches its filter.
func TestTraceFilters(t *testing.T) {
	for _, c := range []struct {
		flags string
		want  int
	}{
		{"--qp 0x57", 4}, {"--qp 86,3", 4}, {"--qp 5", 0},
		{"--psn 1280", 4}, {"--psn 0-1279", 0},
		{"--op rnr,ack", 2}, {"--op send", 2},
		{"--host 10.10.0.2", 4}, {"--host 10.10.0.4", 0},
		{"--errors", 2},
		{"--from 11 --to 12", 2},
		{"--op send --errors", 1},
	} {
		out, err := roci(append([]string{"trace", "--json", capture}, strings.Fields(c.flags)...)...)
		require.NoError(t, err, c.flags)
		require.Equal(t, c.want, strings.Count(out, "\n"), c.flags)
	}
}

// What cannot be done is an error that says what was tried and what to do.
func TestTraceErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, b, 0o600))
		return file
	}
	whole, err := os.ReadFile(capture)
	require.NoError(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"trace"}, "trace takes one capture file, 0 were given; see roci trace --help"},
		{[]string{"trace", "a", "b"}, "trace takes one capture file, 2 were given"},
		{[]string{"trace", "--bad", capture}, "unknown flag: --bad; see roci trace --help"},
		{[]string{"trace", "--json", "--ladder", capture}, "none of the others can be"},
		{[]string{"trace", "--qp", "x", capture}, `--qp: "x" is no queue pair number`},
		{[]string{"trace", "--psn", "1-x", capture}, `--psn: "1-x" is no PSN`},
		{[]string{"trace", "--op", "fetch", capture}, `--op: "fetch" is no kind of packet; there are send,`},
		{[]string{"trace", "--host", "server", capture}, `--host: "server" is no IP address; write one like 10.0.0.2 or fd00::2`},
		{[]string{"trace", "--from", "9", "--to", "3", capture}, "--from 9 --to 3: no packet is in this range; give the lower number to --from"},
		{[]string{"trace", filepath.Join(dir, "nowhere")}, "opening the capture: stat "},
		{[]string{"trace", dir}, "is not a regular file"},
		{[]string{"trace", write("empty", nil)}, "the file is empty"},
		{[]string{"trace", write("text", []byte("hello"))}, "neither pcap nor pcapng"},
		{[]string{"trace", write("cut", whole[:len(whole)-1])}, "record 19: the file ends in the middle of it"},
		{[]string{"dance"}, `unknown command "dance"; see roci --help`},
		{[]string{"trase", capture}, `unknown command "trase"; did you mean trace? see roci --help`},
	} {
		_, err := roci(c.args...)
		require.ErrorContains(t, err, c.want, "%q", c.args)
	}
}

// A damaged file is printed up to the damage.
func TestTraceCutFileStillPrints(t *testing.T) {
	whole, err := os.ReadFile(capture)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cut.pcap")
	require.NoError(t, os.WriteFile(file, whole[:len(whole)-1], 0o600))
	out, err := roci("trace", file)
	require.Error(t, err)
	require.Contains(t, out, "18 frames, 4 of them RoCEv2, 4 shown.")
}

// A capture without RoCE says so, and why that may be.
func TestTraceNothingToShow(t *testing.T) {
	whole, err := os.ReadFile(capture)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "none.pcap")
	require.NoError(t, os.WriteFile(file, whole[:24], 0o600))
	out, err := roci("trace", file)
	require.NoError(t, err)
	require.Contains(t, out, "No RoCEv2 packet (UDP port 4791) among 0 frames.")
	require.Contains(t, out, "RDMA hardware hides its packets")
}

// The help names every flag and has examples.
func TestHelp(t *testing.T) {
	out, err := roci("trace", "--help")
	require.NoError(t, err)
	for _, s := range []string{"--ladder", "--json", "--qp", "--psn", "--op", "--host", "--errors", "--from", "--to", "Examples:"} {
		require.Contains(t, out, s)
	}
	out, err = roci("--help")
	require.NoError(t, err)
	require.Contains(t, out, "roci trace capture.pcapng --ladder")
}
