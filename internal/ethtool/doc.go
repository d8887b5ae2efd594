// Package ethtool asks network interfaces of the calling thread's network namespace
// what the program of that name would. On other systems than Linux they say nothing.
package ethtool
