//go:build !linux

package devices

import (
	"errors"

	"github.com/rocinante-rdma/roce/internal/hostnet"
)

func findNeeds(*hostnet.Interface) needs {
	return needs{nic: errors.New("AF_XDP sockets are Linux's: use Linux")}
}
