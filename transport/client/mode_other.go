//go:build !unix

package client

import "io/fs"

// readableByOthers: the mode says nothing here.
func readableByOthers(fs.FileMode) bool { return false }
