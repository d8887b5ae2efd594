//go:build !linux

package testenv

import "errors"

func checkNetns() error {
	return errors.New("network namespaces are Linux's; run on Linux")
}
