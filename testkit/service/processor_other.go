//go:build !unix

package service

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
