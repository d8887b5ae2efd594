package mad

import "fmt"

// Reason is why a REJ refuses (IBTA vol. 1, 12.6.7.2).
type Reason uint16

// Reasons that software meets; the others have words but no name here.
const (
	ReasonNoResources      Reason = 3
	ReasonTimeout          Reason = 4
	ReasonInvalidServiceID Reason = 8
	ReasonStaleConnection  Reason = 10
	ReasonInvalidGID       Reason = 12
	ReasonInvalidMTU       Reason = 26
	ReasonConsumer         Reason = 28
)

var reasonWords = [...]string{
	1:  "no QP available",
	2:  "no EE context available",
	3:  "no resources available",
	4:  "timeout",
	5:  "unsupported request",
	6:  "invalid communication ID",
	7:  "invalid communication instance",
	8:  "invalid service ID: nobody listens there",
	9:  "invalid transport service type",
	10: "stale connection",
	11: "RDC does not exist",
	12: "primary remote port GID rejected",
	13: "primary remote port LID rejected",
	14: "invalid primary SL",
	15: "invalid primary traffic class",
	16: "invalid primary hop limit",
	17: "invalid primary packet rate",
	18: "alternate remote port GID rejected",
	19: "alternate remote port LID rejected",
	20: "invalid alternate SL",
	21: "invalid alternate traffic class",
	22: "invalid alternate hop limit",
	23: "invalid alternate packet rate",
	24: "port and CM redirection",
	25: "port redirection",
	26: "invalid path MTU",
	27: "insufficient responder resources",
	28: "refused by the application",
	29: "RNR retry count rejected",
	30: "duplicate local communication ID",
	31: "invalid class version",
	32: "invalid primary flow label",
	33: "invalid alternate flow label",
	35: "vendor option not supported",
}

// String says the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasonWords) && reasonWords[r] != "" {
		return reasonWords[r]
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
