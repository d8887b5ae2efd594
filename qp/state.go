package qp

import "fmt"

// State of a queue pair (IBTA vol. 1, 10.3.1), with the values of ibv_qp_state.
type State uint8

// States. SQE exists only for unreliable services.
const (
	StateReset State = iota
	StateInit
	StateRTR
	StateRTS
	StateSQD
	StateSQE
	StateErr
)

var stateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

// String gives the specification's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Receives reports whether requests of the peer are processed in this state.
func (s State) Receives() bool { return s == StateRTR || s == StateRTS || s == StateSQD }

// Sends reports whether responses of the peer are processed in this state.
func (s State) Sends() bool { return s == StateRTS || s == StateSQD }

// StateError says that an operation is not possible in a queue pair's state.
type StateError struct {
	Op    string // what was tried
	State State
}

// Error says what to do, too.
func (e *StateError) Error() string {
	return fmt.Sprintf("qp: %s is not possible in state %s%s", e.Op, e.State, remedy(e.State))
}

func remedy(s State) string {
	switch s {
	case StateReset:
		return "; bring it to INIT first for receives, and to RTS for sends (Connect, or Modify)"
	case StateInit, StateRTR:
		return "; bring it to RTS first (Connect, or Modify)"
	case StateRTS:
		return "; bring it to RESET first (Modify), or make another one"
	case StateErr:
		return "; only RESET leads out of ERR"
	default:
		return ""
	}
}
