package main

import (
	"errors"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/internal/testenv"
)

// notOffered are the options of the tool that have no meaning here: memory and
// time stamps of its devices, and its second way to post.
var notOffered = []string{"odp", "iodp", "prefetch", "ts", "dm", "new_send"}

// toolOption matches a line of the tool's usage: letter, name, and default if any.
var toolOption = regexp.MustCompile(`(?m)^  -(\w), --(\w[\w-]*)(?:=<[^>]*>)?\s.*?(?:\(default (\d+)\))?$`)

func TestPingpongHasTheToolsFlags(t *testing.T) {
	const tool = "ibv_rc_pingpong"
	testenv.Need(t, testenv.PingpongTool)
	usage, err := exec.Command(tool, "--help").Output() // it knows no --help, so it prints its usage and fails
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), err)
	flags := newPingpong().Flags()
	var same []string
	for _, m := range toolOption.FindAllStringSubmatch(string(usage), -1) {
		letter, name, value := m[1], m[2], m[3]
		flag := flags.ShorthandLookup(letter)
		if slices.Contains(notOffered, name) {
			require.Nil(t, flag, "-%s means something else here", letter)
			continue
		}
		require.NotNil(t, flag, "-%s is missing", letter)
		require.Same(t, flags.Lookup(name), flag)
		if value != "" {
			require.Equal(t, value, flag.DefValue, "default of -%s", letter)
		}
		same = append(same, letter)
	}
	slices.Sort(same)
	require.Equal(t, "c d e g i l m n p r s", strings.Join(same, " "))
}

func TestPingpongRefusesBadFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--link sim":                     `--link "sim": no link to a network has this name; there are auto, auto:bandwidth, raw, udp, xdp, xdp:copy,`,
		"-i 2":                           "--ib-port 2: a network interface is a device with one port",
		"-l 16":                          "--sl 16: must be 0 to 15",
		"-m 1500":                        "--mtu 1500: must be 256, 512, 1024, 2048 or 4096",
		"-n 0":                           "--iters 0: must be 1 to",
		"-p 65536":                       "--port",
		"--addr 10.0.0":                  `--addr: "10.0.0" is no IP address; write one like 10.0.0.2 or fd00::2`,
		"--addr 127.0.0.1 -g 1":          "addr gid-idx",
		"--addr 127.0.0.1 --ib-dev lo":   "addr dev",
		"-d nosuch":                      `no network interface "nosuch"`,
		"--dcqcn fast":                   `--dcqcn: ecn: no parameter set is called "fast"; there are "paper" and "connectx"`,
		"--cnp":                          "--cnp goes with --dcqcn: say --dcqcn paper or --dcqcn connectx too",
		"--trace /no/such/folder/file":   "--trace: open /no/such/folder/file",
		"one.example two.example":        "pingpong takes one host, the server's, or none to be the server; 2 were given; see roci pingpong --help",
		"--addr 192.0.2.1 -p 0":          "192.0.2.1",
		"--chk=perhaps":                  "--chk",
		"-s 4096 -s -1 --addr 127.0.0.1": "--size -1: must be 0 to",
	} {
		_, err := roci(append([]string{"pingpong"}, strings.Fields(args)...)...)
		require.ErrorContains(t, err, says, args)
	}
}

func TestPingpongServerOnTakenPort(t *testing.T) {
	ln, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	_, err = roci("pingpong", "-p", port)
	require.ErrorContains(t, err, "address already in use")
	require.ErrorContains(t, err, "choose another port with -p")
}

func TestPingpongHelpShowsEveryFlag(t *testing.T) {
	out, err := roci("pingpong", "--help")
	require.NoError(t, err)
	for _, flag := range []string{"--port", "--dev", "--ib-dev", "--ib-port", "--size", "--mtu", "--rx-depth", "--iters", "--sl",
		"--events", "--gid-idx", "--chk", "--addr", "--link", "--json", "--stats", "--trace", "--dcqcn", "--cnp"} {
		require.Contains(t, out, flag)
	}
}
