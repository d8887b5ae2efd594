//go:build !linux

package main

import "errors"

func tryNamespaces() error { return errors.New("network namespaces are Linux's; run on Linux") }
