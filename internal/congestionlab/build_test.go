package congestionlab

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// build makes a scenario of "key=value" words; "_" stands for a space.
func build(t *testing.T, words string) Scenario {
	t.Helper()
	s, err := Build(settings(words)...)
	require.NoError(t, err)
	return s
}

func settings(words string) (list []Setting) {
	for _, w := range strings.Fields(words) {
		key, value, _ := strings.Cut(w, "=")
		list = append(list, Setting{key, strings.ReplaceAll(value, "_", " "), "--" + key})
	}
	return list
}

// The scenario that a file describes can be written, and read back, whatever it is.
func TestScenarioRoundTrip(t *testing.T) {
	for _, words := range []string{
		"",
		"senders=3 starts=0,1ms,20ms operation=read message=1MiB depth=9 mtu=4096 ack-timeout=10 duration=1s sample=10ms seed=18446744073709551615",
		"rate=2.5Gb/s delay=0s buffer=1MB kmin=0 kmax=64KiB pmax=0.125 dcqcn=off cnp-interval=4us params=connectx",
		"params=paper gain=0.0625 alpha-period=1us initial-alpha=0.5 timer=1.5ms byte-counter=150KB fast-recovery=1 stage-before=on " +
			"additive-increase=5Mb/s hyper-increase=50Mb/s hyper-by-stage=off min-rate=2Mb/s max-rate=900Mb/s " +
			"decrease-interval=4us max-cut=0.5 clamp-target=off first-rate=0.25",
	} {
		s := build(t, words)
		var file bytes.Buffer
		require.NoError(t, writeSettings(&file, &s))
		list, err := ReadSettings(&file, "scenario.txt")
		require.NoError(t, err)
		require.Len(t, list, len(Keys))
		again, err := Build(list...)
		require.NoError(t, err)
		require.Equal(t, s, again, words)
	}
}

func TestReadSettings(t *testing.T) {
	list, err := ReadSettings(strings.NewReader("# two of them\n\nsenders = 7   # flows\n  kmin=1KB\n"), "lab.txt")
	require.NoError(t, err)
	require.Equal(t, []Setting{{"senders", "7", "lab.txt:3"}, {"kmin", "1KB", "lab.txt:4"}}, list)
}

// A set of parameters is chosen before single ones are changed, wherever it stands; the
// scaled one is the paper's for a rate that may come later, too.
func TestParameterSets(t *testing.T) {
	p := build(t, "timer=1ms params=connectx").Params
	want := ecn.ConnectX()
	want.Timer = time.Millisecond
	require.Equal(t, want, p)

	require.Equal(t, ecn.Paper(), build(t, "params=scaled rate=10Gb/s").Params)
	require.Equal(t, ecn.Paper(), build(t, "params=paper rate=100Mb/s").Params)
	p = build(t, "rate=2Gb/s").Params
	require.Equal(t, []float64{8e6, 80e6, 2e6}, []float64{p.AdditiveIncrease, p.HyperIncrease, p.MinRate})
	require.Equal(t, 1e6, build(t, "rate=10Mb/s").Params.AdditiveIncrease, "no less than is allowed")
}

// Every error says where, what and what is allowed.
func TestBadScenarios(t *testing.T) {
	for file, want := range map[string]string{
		"senders = 4\nsendrs = 5":  `lab.txt:2: there is no key "sendrs"; there are senders, starts, operation,`,
		"senders":                  `lab.txt:1: "senders" is no setting; write key = value`,
		"\n\nsenders = many":       `lab.txt:3: senders: "many" is no whole number`,
		"senders = 0":              `lab.txt:1: senders: "0" is out of range: must be 1 to 200`,
		"rate = 0":                 `lab.txt:1: rate: "0" is out of range: must be 10Mb/s to 100Gb/s`,
		"rate = fast":              `lab.txt:1: rate: "fast" is no bit rate; write one like 1Gb/s or 40Mb/s`,
		"rate = NaN":               `lab.txt:1: rate: "NaN" is no bit rate`,
		"rate = 1e999":             `lab.txt:1: rate: "1e999" is no bit rate`,
		"kmin = 0.5":               `lab.txt:1: kmin: "0.5" is no number of bytes; write one like 5000, 5KB or 64KiB`,
		"kmin = -1":                `lab.txt:1: kmin: "-1" is out of range: must be 0 to 1GiB`,
		"message = 1e30":           `lab.txt:1: message: "1e30" is no number of bytes`,
		"pmax = NaN":               `lab.txt:1: pmax: "NaN" is no number`,
		"duration = 5":             `lab.txt:1: duration: "5" is no time; write one like 50us, 20ms or 1s`,
		"duration = 1h":            `lab.txt:1: duration: "1h" is out of range: must be 1ms to 1m0s`,
		"starts = every day":       `lab.txt:1: starts: "every day" is no time; write one like "every 20ms"`,
		"starts = 0, never":        `lab.txt:1: starts: "0, never" is no list of times`,
		"starts = -1ms":            `lab.txt:1: starts: "-1ms" is no list of times`,
		"operation = send":         `lab.txt:1: operation: "send" is no operation; there are write and read`,
		"mtu = 1500":               `lab.txt:1: mtu: "1500" is no path MTU; there are 256, 512, 1024, 2048 and 4096`,
		"dcqcn = maybe":            `lab.txt:1: dcqcn: "maybe" is neither on nor off`,
		"params = qcn":             `lab.txt:1: params: "qcn" is no set of parameters; there are "scaled", "paper" and "connectx"`,
		"gain = 2":                 `lab.txt:1: gain: "2" is refused: ecn: Gain is 2, must be more than 0 and at most 1`,
		"timer = 0s":               `lab.txt:1: timer: "0s" is refused: ecn: Timer is 0s, must be 1µs to 1s`,
		"fast-recovery = 99":       `lab.txt:1: fast-recovery: "99" is refused: ecn: FastRecovery is 99, must be 1 to 31`,
		"seed = -1":                `lab.txt:1: seed: "-1" is no seed`,
		strings.Repeat("x", 1<<17): `lab.txt: bufio.Scanner: token too long`,
	} {
		_, err := ReadSettings(strings.NewReader(file), "lab.txt")
		require.ErrorContains(t, err, want)
	}
	for words, want := range map[string]string{
		"starts=1ms,2ms":                 `starts has 2 times for 4 senders; give one for each, or "every 20ms"`,
		"starts=every_1s":                "the last flow begins at 3s, and the duration is 400ms; make it longer",
		"sample=1s":                      "duration 400ms at one sample every 1s are 0 samples; must be 1 to 20000",
		"sample=100001ns":                "sample 100.001µs cannot be divided into 50 whole nanoseconds",
		"rate=100Gb/s duration=10s":      "are 111408200 packets of MTU 1024; at most 10000000 are simulated",
		"buffer=1000":                    "buffer 1KB cannot hold a packet of MTU 1024; must be at least 1.122KB",
		"kmin=200KB":                     "ecn: RED's Kmin is 200000 and its Kmax 100000 bytes, must be 0 <= Kmin <= Kmax",
		"pmax=0":                         `pmax = "0" is out of range: must be 1e-06 to 1`,
		"max-rate=5Mb/s min-rate=10Mb/s": "ecn: MaxRate is 5e+06, must be 0 or 1e+07 to 1e+13",
		"senders=none":                   `--senders: senders = "none" is no whole number`,
		"sendrs=1":                       `--sendrs: there is no key "sendrs"`,
	} {
		_, err := Build(settings(words)...)
		require.ErrorContains(t, err, want)
	}
}
