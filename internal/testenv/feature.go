package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Features that a test may need. Two more are known where they matter: "interop" is
// interop/guest.Feature, what it takes to make and boot virtual machines; "clang" is
// the compiler of package bpf.
var (
	// Root is the effective user ID 0.
	Root = Feature{Name: "root", Check: checkRoot}

	// PingpongTool is the ping-pong that roci's stands beside.
	PingpongTool = Feature{Name: "interop", Check: command("ibv_rc_pingpong", "ibverbs-utils")}

	// Netns is the right to make network namespaces with veth pairs in them.
	Netns = Feature{Name: "netns", Check: checkNetns}

	// Tshark is the independent dissector.
	Tshark = Feature{Name: "tshark", Check: command("tshark", "tshark")}
)

func checkRoot() error {
	switch uid := os.Geteuid(); uid {
	case 0:
		return nil
	case -1:
		return errors.New("this system has no user IDs; run on Linux")
	default:
		return fmt.Errorf("running as user %d; run as root", uid)
	}
}

// command returns the check for a program that a Debian package brings.
func command(program, pkg string) func() error {
	return func() error {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("no %s in PATH; install the Debian package %s", program, pkg)
		}
		return nil
	}
}
