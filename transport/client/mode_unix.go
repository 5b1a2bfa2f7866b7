//go:build unix

package client

import "io/fs"

// readableByOthers reports whether a file is open to others than its owner.
func readableByOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
