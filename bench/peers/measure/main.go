// Command measure runs a program and writes what it took to file descriptor 3 as JSON.
// Linux counts the memory of whoever starts a process into the peak of that process,
// so a large program cannot measure a small one directly; this one is small.
package main

import (
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		log.Fatal(err)
	}
	report := map[string]int64{
		"cpuNanoseconds": int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()),
		"peakBytes":      cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024, // Linux counts in KiB
	}
	if err := json.NewEncoder(os.NewFile(3, "report")).Encode(report); err != nil {
		log.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		os.Exit(max(code, 1))
	}
}
