package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rocinante-rdma/roce/wire"
)

// JSONLines is a sink that writes one JSON object per packet and line. QPNs, PSNs,
// MSNs, lengths and counts are decimal numbers; virtual addresses, keys, immediate
// data and atomic operands are strings like "0x12ab", since they may not fit a
// JSON number. Fields that say nothing for a packet are left out.
//
//	time       wall-clock time, RFC 3339 with nanoseconds, UTC
//	t_ns       the device's own clock, nanoseconds
//	device     name given to Recorder.Device
//	dir        "in" or "out"
//	qpn        the local queue pair, if one was found
//	src, dst   IP addresses
//	sport      UDP source port
//	tclass     traffic class sent; of received packets only the two ECN bits
//	ecn        "ECT(0)", "ECT(1)" or "CE" in words; left out of Not-ECT packets
//	ip_id      IPv4 identification, where it is known
//	op         opcode by name, such as "RC SEND Only"; opcode is its number
//	dest_qpn, psn, pkey, ack_req, solicited, fecn, becn   from the BTH
//	reth       {va, rkey, len}
//	atomic     {va, rkey, swap_add, compare}
//	aeth       {syndrome, code, msn}, the syndrome in words and as the number
//	deth       {qkey, src_qpn}
//	imm, invalidate, atomic_ack   what the headers of that name carry
//	payload    payload bytes, without pad
//	frame      bytes from the BTH to the ICRC
//	broken     why the frame is not a whole packet; other fields may be missing
//	icrc       "good", "inferred", "bad" or "unchecked"
//	cause      sent: why
//	action, rule, rule_psn   received: what was done, by which rule, and the PSN that
//	           it speaks of
//	label      the packet in one line
//	why        what the stack did and why, in one line
//	lost       packets of the device, just before this one, that were not recorded
//
// The last lines, one per device, are {device, recorded, lost}.
type JSONLines struct {
	w     *bufio.Writer
	enc   *json.Encoder
	epoch time.Time
}

// NewJSONLines returns a sink that writes to w. The epoch is as for [NewPcapng].
func NewJSONLines(w io.Writer, epoch time.Time) *JSONLines {
	j := &JSONLines{w: bufio.NewWriter(w), epoch: orUnixEpoch(epoch)}
	j.enc = json.NewEncoder(j.w)
	j.enc.SetEscapeHTML(false)
	return j
}

type jsonPacket struct {
	Time   string `json:"time"`
	Clock  int64  `json:"t_ns"`
	Device string `json:"device"`
	Dir    string `json:"dir"`
	QPN    uint32 `json:"qpn,omitzero"`

	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	SrcPort uint16  `json:"sport"`
	TClass  uint8   `json:"tclass"`
	ECN     string  `json:"ecn,omitzero"`
	ID      *uint16 `json:"ip_id,omitempty"`

	*JSONHeaders
	Frame  int    `json:"frame"`
	Broken string `json:"broken,omitzero"`

	ICRC    string  `json:"icrc"`
	Cause   string  `json:"cause,omitzero"`
	Action  string  `json:"action,omitzero"`
	Rule    string  `json:"rule,omitzero"`
	RulePSN *uint32 `json:"rule_psn,omitempty"`

	Label string `json:"label"`
	Why   string `json:"why"`
	Lost  uint64 `json:"lost,omitzero"`
}

type jsonDevice struct {
	Device   string `json:"device"`
	Recorded uint64 `json:"recorded"`
	Lost     uint64 `json:"lost"`
}

// Device implements [Sink].
func (j *JSONLines) Device(string) error { return nil }

// Packet implements [Sink].
func (j *JSONLines) Packet(r *Record) error {
	line := jsonPacket{
		Time:   j.epoch.Add(time.Duration(r.Time)).UTC().Format("2006-01-02T15:04:05.000000000Z07:00"),
		Clock:  int64(r.Time),
		Device: r.Name, Dir: r.Dir.String(), QPN: r.QPN,
		Src: r.Src.String(), Dst: r.Dst.String(), SrcPort: r.SrcPort, TClass: r.TrafficClass,
		JSONHeaders: r.JSONHeaders(),
		Frame:       len(r.Bytes()),
		ICRC:        r.ICRC.String(),
		Label:       r.Label(), Why: r.Why(), Lost: r.Lost,
	}
	if r.IDKnown || r.Dir == Out && r.isIPv4() {
		line.ID = &r.ID
	}
	if r.Err != nil {
		line.Broken = r.Err.Error()
	}
	if ecn := r.ECN(); ecn != wire.NotECT {
		line.ECN = ecn.String()
	}
	line.setReason(r)
	return j.encode(line)
}

// setReason sets why the packet was sent, or what was done with it.
func (line *jsonPacket) setReason(r *Record) {
	if r.Dir == Out {
		line.Cause = r.Cause.String()
		return
	}
	v := &r.Verdict
	line.Action, line.Rule = v.Action.String(), v.Rule.String()
	if v.Rule.HasPSN() {
		line.RulePSN = (*uint32)(&v.PSN)
	}
}

// Flush implements [Sink].
func (j *JSONLines) Flush() error { return jsonError(j.w.Flush()) }

// Close implements [Sink].
func (j *JSONLines) Close(s Stats) error {
	for _, d := range s.Devices {
		if err := j.encode(jsonDevice{d.Name, d.Recorded, d.Lost}); err != nil {
			return err
		}
	}
	return j.Flush()
}

func (j *JSONLines) encode(line any) error { return jsonError(j.enc.Encode(line)) }

func jsonError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("trace: writing JSON lines failed, they end early: %w", err)
}
