//go:build !unix

package client

import "io/fs"

// syncDir: a folder cannot be synced here.
func syncDir(string) error { return nil }

// readableByOthers: the mode says nothing here.
func readableByOthers(fs.FileMode) bool { return false }
