//go:build !unix

package client

import "io/fs"

// readableByOthers returns false: file modes have no meaning on this system.
func readableByOthers(fs.FileMode) bool { return false }
