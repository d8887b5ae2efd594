package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/bth"
	lab "github.com/rocinante-rdma/roce/internal/congestionlab"
	"github.com/rocinante-rdma/roce/trace/decode"
	"github.com/rocinante-rdma/roce/wire"
)

// short is a run of two flows that meet.
var short = strings.Fields("congestion --senders 2 --starts 0,5ms --duration 40ms --out")

// The command says side by side what DCQCN makes of it, and leaves files that others can
// read.
func TestCongestionCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	out, err := roci(append(short, dir, "--compare")...)
	require.NoError(t, err)
	require.Contains(t, out, "2 senders → 1Gb/s → 1 receiver: WRITEs of 64KiB at MTU 1024, 40ms of virtual time, seed 1")
	require.Regexp(t, `(?m)^from 22.5ms on +DCQCN +window only$`, out)
	require.Regexp(t, `(?m)^  CNPs +[1-9]\d* +0$`, out)
	require.Regexp(t, `(?m)^  flow 2   +[▁-█]+ +\d+ Mb/s$`, out)
	require.Contains(t, out, "in "+dir+":\n  run.pcapng  rate.svg")
	for name, what := range map[string]string{"rate": "flow 2", "queue": "window only", "limiter": "alpha"} {
		requirePictures(t, filepath.Join(dir, name), what)
	}
	for _, name := range []string{"samples.csv", "samples-window.csv"} {
		csv, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(csv)), "\n")
		require.Len(t, lines, 21, "a head and a sample for every 2 ms")
		for _, l := range lines {
			require.Equal(t, 5+2*4, strings.Count(l, ","))
		}
	}
	requireCongestionOnly(t, filepath.Join(dir, "run.pcapng"))
	list, err := roci("trace", filepath.Join(dir, "run.pcapng"))
	require.NoError(t, err)
	require.Contains(t, list, "CNP for QP 0x")
	require.Contains(t, list, " CE ")
	again, err := roci("congestion", "--file", filepath.Join(dir, "scenario.txt"), "--out", t.TempDir())
	require.NoError(t, err)
	require.Contains(t, again, "2 senders → 1Gb/s → 1 receiver")
}

// requireCongestionOnly reads a capture that has marked packets and CNPs, nothing else, each
// explained, and no payload.
func requireCongestionOnly(t *testing.T, path string) {
	t.Helper()
	r, err := decode.Open(path)
	require.NoError(t, err)
	defer r.Close()
	marks, cnps := 0, 0
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		p := decode.Decode(&rec)
		require.NotNil(t, p)
		require.NotEmpty(t, p.Comment)
		require.LessOrEqual(t, len(rec.Data), wire.IPv4Len+wire.UDPLen+bth.MaxHeaderLen)
		switch {
		case p.BTH.Opcode == bth.CNP:
			cnps++
		default:
			require.Equal(t, wire.CE, wire.ECNOf(p.TrafficClass), "record %d", rec.Number)
			require.Contains(t, p.Comment, "marked CE")
			marks++
		}
	}
	require.NotZero(t, marks)
	require.NotZero(t, cnps)
}

// requirePictures reads a plot in both formats; what is a text in it.
func requirePictures(t *testing.T, path, what string) {
	t.Helper()
	b, err := os.ReadFile(path + ".png")
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = os.ReadFile(path + ".svg")
	require.NoError(t, err)
	require.Contains(t, string(b), what)
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

func TestCongestionJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lab.txt")
	require.NoError(t, os.WriteFile(file, []byte("kmax = 50KB # flags win\nparams = connectx\n"), 0o666))
	out, err := roci(append(short, dir, "--json", "--kmax", "60KB", "--file", file, "--timer", "100us")...)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "\n"))
	var r struct {
		Directory string
		Files     []string
		Runs      []lab.Summary
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, dir, r.Directory)
	require.Len(t, r.Runs, 1)
	require.Len(t, r.Runs[0].Flows, 2)
	require.NotZero(t, r.Runs[0].CNPs)
	for _, name := range r.Files {
		require.FileExists(t, filepath.Join(dir, name))
	}
	scenario, err := os.ReadFile(filepath.Join(dir, "scenario.txt"))
	require.NoError(t, err)
	for _, line := range []string{"kmax = 60KB\n", "params = connectx\n", "timer = 100us\n", "gain = 0.0048828125\n"} {
		require.Contains(t, string(scenario), line)
	}
}

func TestCongestionHelp(t *testing.T) {
	out, err := roci("congestion", "--help")
	require.NoError(t, err)
	for i := range lab.Keys {
		require.Contains(t, out, "--"+lab.Keys[i].Name+" ")
	}
}

func TestCongestionErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "lab.txt")
	require.NoError(t, os.WriteFile(bad, []byte("senders = 4\nqueue = 5\n"), 0o666))
	for _, c := range []struct{ args, want string }{
		{"--senders 0", `senders: "0" is out of range: must be 1 to 200`},
		{"--rate 0", `rate: "0" is out of range: must be 10Mb/s to 100Gb/s`},
		{"--kmin 1MB", "Kmin is 1000000 and its Kmax 100000 bytes"},
		{"--compare --dcqcn off", "the scenario is without DCQCN already; leave out dcqcn = off"},
		{"--file " + bad, `lab.txt:2: there is no key "queue"; there are senders,`},
		{"--file " + filepath.Join(dir, "none"), "no such file"},
		{"--duration 1ms --starts 0,0,0,0 --sample 1ms --out " + filepath.Join(bad, "x"), "cannot make a directory for the results"},
		{"now", `congestion takes flags only, "now" is none; see roci congestion --help`},
	} {
		_, err := roci(append([]string{"congestion"}, strings.Fields(c.args)...)...)
		require.ErrorContains(t, err, c.want)
	}
}
