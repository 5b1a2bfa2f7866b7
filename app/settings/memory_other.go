//go:build !linux

package settings

// machineMemory is the memory of the machine; 0: it is not known.
func machineMemory() int64 { return 0 }
