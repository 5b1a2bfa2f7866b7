// Package durable makes changes of folders outlive a power cut. What is in a file is
// made durable by the file's own Sync; that the file is there is known to its folder
// alone.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll is os.MkdirAll whose folders outlive a power cut.
func MkdirAll(dir string, mode fs.FileMode) error {
	var made []string
	for path := filepath.Clean(dir); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			break
		}
		made = append(made, path)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	for _, path := range made {
		if err := SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}
