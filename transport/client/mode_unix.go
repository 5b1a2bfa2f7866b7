//go:build unix

package client

import "io/fs"

// readableByOthers reports whether others than the owner may read a file.
func readableByOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
