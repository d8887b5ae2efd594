// Package sockopt sets the socket options that links have in common.
package sockopt
