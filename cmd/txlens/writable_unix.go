//go:build unix

package main

import "syscall"

// writable reports whether this user may make files in a folder. Access asks the
// kernel, so it knows of read-only file systems and of access lists, too.
func writable(dir string) bool {
	const writeAndSearch = 2 | 1 // W_OK | X_OK
	return syscall.Access(dir, writeAndSearch) == nil
}
