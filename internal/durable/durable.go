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

// ReplaceFile replaces a file by one that only its owner may read, atomically: after a crash
// there is the complete new file or the old one.
func ReplaceFile(path string, doc []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(doc); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}
