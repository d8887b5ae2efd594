package congestionlab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rocinante-rdma/roce/congestion/ecn"
)

// Key is something that a scenario can set, by a line of a file or a flag.
type Key struct {
	Name string
	Help string // one line; `back quotes` around the kind of value
	set  func(*Scenario, string) error
	get  func(*Scenario) string
}

// Keys are all that a scenario can set, in the order in which they are best read.
var Keys = slices.Concat(trafficKeys, bottleneckKeys, controlKeys, parameterKeys)

var trafficKeys = []Key{
	count("senders", "`number` of senders, each with a flow to the one receiver", 1, 200, func(s *Scenario) *int { return &s.Senders }),
	{"starts", "when flows begin: one `time` each with commas between, or \"every 20ms\"", setStarts, func(s *Scenario) string { return s.Starts.String() }},
	{"operation", "write: senders WRITE; read: the receiver READs from them (`name`)", setOperation, func(s *Scenario) string { return s.Operation.String() }},
	size("message", "`bytes` of a message", 1, 1<<20, func(s *Scenario) *int { return &s.Message }),
	count("depth", "`number` of messages that each flow has under way", 1, 64, func(s *Scenario) *int { return &s.Depth }),
	{"mtu", "path MTU: payload `bytes` of a packet", setMTU, func(s *Scenario) string { return fmt.Sprint(s.MTU) }},
	count("ack-timeout", "`code` of the local ACK timeout, 4.096 us times 2 to its power: 14 is 67 ms", 6, 20, func(s *Scenario) *int { return &s.AckTimeout }),
	span("duration", "virtual `time` of the run", time.Millisecond, time.Minute, func(s *Scenario) *time.Duration { return &s.Duration }),
	span("sample", "`time` that is one point in the results", 100*time.Microsecond, time.Second, func(s *Scenario) *time.Duration { return &s.Sample }),
	{"seed", "`number` that everything random derives from", setSeed, func(s *Scenario) string { return fmt.Sprint(s.Seed) }},
}

var bottleneckKeys = []Key{
	rate("rate", "`bit/s` of the bottleneck, and of each sender's link", 10e6, 100e9, func(s *Scenario) *float64 { return &s.Rate }),
	span("delay", "`time` on the way, each way, apart from that of the bytes", 0, 100*time.Millisecond, func(s *Scenario) *time.Duration { return &s.Delay }),
	size("buffer", "`bytes` in front of the receiver; more are dropped", 1, 1<<30, func(s *Scenario) *int { return &s.Buffer }),
	size("kmin", "`bytes` up to which nothing is marked", 0, 1<<30, func(s *Scenario) *int { return &s.RED.Kmin }),
	size("kmax", "`bytes` above which everything is marked", 0, 1<<30, func(s *Scenario) *int { return &s.RED.Kmax }),
	share("pmax", "`probability` of a mark at kmax", 1e-6, func(s *Scenario) *float64 { return &s.RED.Pmax }),
}

var controlKeys = []Key{
	{"dcqcn", "`on`, or off: nothing but a window that halves when packets are lost", setDCQCN, func(s *Scenario) string { return formatSwitch(s.DCQCN) }},
	span("cnp-interval", "least `time` between two CNPs to a flow", time.Microsecond, time.Second, func(s *Scenario) *time.Duration { return &s.CNPInterval }),
	{"params", "`set` of parameters: scaled (the paper's for this rate), paper, connectx", setParams, func(s *Scenario) string { return s.set }},
}

// parameterKeys are those of [ecn.Params], which knows their ranges.
var parameterKeys = []Key{
	parameter("gain", "weight `g` of one period in alpha", parseShare, formatShare, func(p *ecn.Params) *float64 { return &p.Gain }),
	parameter("alpha-period", "`time` without CNP after which alpha falls by a step", parseDuration, formatDuration, func(p *ecn.Params) *time.Duration { return &p.AlphaPeriod }),
	parameter("initial-alpha", "alpha at the first CNP (`share`)", parseShare, formatShare, func(p *ecn.Params) *float64 { return &p.InitialAlpha }),
	parameter("timer", "`time` between increases", parseDuration, formatDuration, func(p *ecn.Params) *time.Duration { return &p.Timer }),
	parameter("byte-counter", "`bytes` between increases; 0: the timer's alone", parseBytes64, formatBytes64, func(p *ecn.Params) *int64 { return &p.Bytes }),
	parameter("fast-recovery", "`number` F of the stage at which fast recovery ends", parseCount, formatCount, func(p *ecn.Params) *int { return &p.FastRecovery }),
	parameter("stage-before", "`on`: F counts the stages before the event", parseSwitch, formatSwitch, func(p *ecn.Params) *bool { return &p.StageBefore }),
	parameter("additive-increase", "`bit/s` of one additive increase", parseBitRate, formatBitRate, func(p *ecn.Params) *float64 { return &p.AdditiveIncrease }),
	parameter("hyper-increase", "`bit/s` of one hyper increase", parseBitRate, formatBitRate, func(p *ecn.Params) *float64 { return &p.HyperIncrease }),
	parameter("hyper-by-stage", "`on`: hyper increases grow with the stage", parseSwitch, formatSwitch, func(p *ecn.Params) *bool { return &p.HyperByStage }),
	parameter("min-rate", "`bit/s` that no cut goes below", parseBitRate, formatBitRate, func(p *ecn.Params) *float64 { return &p.MinRate }),
	parameter("max-rate", "`bit/s` that a flow never exceeds; 0: the line rate", parseBitRate, formatBitRate, func(p *ecn.Params) *float64 { return &p.MaxRate }),
	parameter("decrease-interval", "`time` after a cut in which CNPs are not obeyed", parseDuration, formatDuration, func(p *ecn.Params) *time.Duration { return &p.DecreaseInterval }),
	parameter("max-cut", "largest part of the rate that one cut takes (`share`)", parseShare, formatShare, func(p *ecn.Params) *float64 { return &p.MaxCut }),
	parameter("clamp-target", "`on`: the target falls to the rate at every cut", parseSwitch, formatSwitch, func(p *ecn.Params) *bool { return &p.ClampTarget }),
	parameter("first-rate", "part of the line rate to begin with at the first CNP; 0: a cut (`share`)", parseShare, formatShare, func(p *ecn.Params) *float64 { return &p.FirstRate }),
}

// KeyNamed finds a key.
func KeyNamed(name string) (*Key, error) {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i], nil
		}
	}
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return nil, fmt.Errorf("there is no key %q; there are %s", name, strings.Join(names, ", "))
}

// Check reports what is wrong with a value for the key, seen alone.
func (k *Key) Check(value string) error {
	s := Default()
	if err := k.set(&s, value); err != nil {
		return fmt.Errorf("%s: %q %w", k.Name, value, err)
	}
	return nil
}

// Value is the key's value in a scenario, as it can be written.
func (k *Key) Value(s *Scenario) string { return k.get(s) }
