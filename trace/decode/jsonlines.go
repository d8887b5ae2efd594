package decode

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/rocinante-rdma/roce/cm/mad"
	"github.com/rocinante-rdma/roce/trace"
	"github.com/rocinante-rdma/roce/wire"
)

// jsonLines prints one object per packet. The transport headers have the names that
// trace.JSONLines documents; the rest is
//
//	number, time      of the record, as captured
//	t                 seconds since the first record
//	src, dst, sport   addresses and UDP source port
//	tclass            traffic class
//	ecn               "ECT(0)", "ECT(1)" or "CE"; left out of Not-ECT packets
//	ip_id             IPv4 identification
//	src_qpn           the sending queue pair, if known
//	frame             bytes from the BTH to the ICRC
//	broken            why the frame is not a whole packet
//	icrc              "good", "bad" or why it is not computable
//	cm                {mad, kind, message} of packets to QP1
//	notes             [{kind, text}]
//	comment           what the capture says about the packet
//	label             the packet in one line
type jsonLines struct {
	w   *bufio.Writer
	enc *json.Encoder
	s   *Summary
}

func newJSONLines(w io.Writer, s *Summary) printer {
	j := &jsonLines{w: bufio.NewWriter(w), s: s}
	j.enc = json.NewEncoder(j.w)
	j.enc.SetEscapeHTML(false)
	return j
}

type jsonPacket struct {
	Number  int     `json:"number"`
	Time    string  `json:"time"`
	Since   float64 `json:"t"`
	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	SrcPort uint16  `json:"sport"`
	TClass  uint8   `json:"tclass"`
	ECN     string  `json:"ecn,omitzero"`
	ID      *uint16 `json:"ip_id,omitempty"`
	SrcQPN  *uint32 `json:"src_qpn,omitempty"`

	*trace.JSONHeaders
	Frame   int        `json:"frame"`
	Broken  string     `json:"broken,omitzero"`
	ICRC    string     `json:"icrc"`
	CM      *jsonCM    `json:"cm,omitempty"`
	Notes   []jsonNote `json:"notes,omitempty"`
	Comment string     `json:"comment,omitzero"`
	Label   string     `json:"label"`
}

type jsonCM struct {
	MAD     mad.Header  `json:"mad"`
	Kind    string      `json:"kind"`
	Message mad.Message `json:"message"`
	Broken  string      `json:"broken,omitzero"`
}

type jsonNote struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (j *jsonLines) packet(p *Packet) error {
	line := jsonPacket{
		Number: p.Number, Time: p.Time.Format(time.RFC3339Nano), Since: p.Time.Sub(j.s.Start).Seconds(),
		Src: p.Src.String(), Dst: p.Dst.String(), SrcPort: p.SrcPort, TClass: p.TrafficClass,
		Frame: len(p.Frame), ICRC: p.ICRC.String(), CM: jsonOfCM(p.CM), Comment: p.Comment, Label: p.Label(),
	}
	if p.hasBTH() {
		line.JSONHeaders = p.record().JSONHeaders()
	}
	if ecn := wire.ECNOf(p.TrafficClass); ecn != wire.NotECT {
		line.ECN = ecn.String()
	}
	if p.Src.Is4() {
		line.ID = &p.ID
	}
	if p.SrcQP.Known {
		line.SrcQPN = &p.SrcQP.N
	}
	if p.Err != nil {
		line.Broken = p.Err.Error()
	}
	for _, n := range p.Notes {
		line.Notes = append(line.Notes, jsonNote{n.Kind.String(), n.Text})
	}
	return j.enc.Encode(line)
}

func jsonOfCM(c *CM) *jsonCM {
	if c == nil {
		return nil
	}
	line := &jsonCM{MAD: c.Header, Kind: c.Header.Attribute.String(), Message: c.Message}
	if c.Err != nil {
		line.Broken = c.Err.Error()
	}
	return line
}

func (j *jsonLines) close(*Summary) error { return j.w.Flush() }
