//go:build !unix

package secretfile

import "io/fs"

// shared returns "": file modes have no meaning on this system.
func shared(fs.FileInfo) string { return "" }
