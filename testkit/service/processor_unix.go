//go:build unix

package service

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of all processors. Other than the time
// that passes, it does not grow while the machine is busy with something else.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
