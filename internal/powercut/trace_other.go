//go:build !linux || !(amd64 || arm64)

package powercut

import "os/exec"

// Run needs Linux.
func Run(string, *exec.Cmd) (*Recording, error) { return nil, ErrUnsupported }
