//go:build linux || darwin || freebsd

package storage

import "syscall"

// diskSize is the size of the file system that contains the folder dir; 0: it is not known.
func diskSize(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0
	}
	return int64(fs.Blocks) * int64(fs.Bsize)
}
