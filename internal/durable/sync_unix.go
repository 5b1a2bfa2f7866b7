//go:build unix

package durable

import "os"

// SyncDir makes it durable which files a folder holds: what was made, renamed or
// removed in it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
