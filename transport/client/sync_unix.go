//go:build unix

package client

import (
	"io/fs"
	"os"
)

// syncDir makes a renaming durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// readableByOthers reports whether a file is open to others than its owner.
func readableByOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
