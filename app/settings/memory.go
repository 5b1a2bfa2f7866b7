package settings

import (
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// leastMemory is the smallest value of --memory-max: the program with its tables takes a part of it.
	leastMemory = 256_000_000
	// unknownMachine is taken for the memory of a machine that does not tell it.
	unknownMachine = 8 << 30
)

// memoryMax is the option of app.Options: --memory-max, or half of what the process may use.
func (f *Server) memoryMax() int64 {
	switch {
	case f.MemoryMax < 0:
		return 0
	case f.MemoryMax > 0:
		return int64(f.MemoryMax)
	}
	return max(leastMemory, available(os.DirFS("/"), machineMemory())/2)
}

// LimitMemory makes the collector keep the process within so many bytes, unless GOMEMLIMIT says
// otherwise. 0: no bound.
func LimitMemory(bytes int64) {
	if bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}

// available returns the memory that the process may use: the least limit of its control group
// and of those above it, at most the memory of the machine. 0 bytes of a machine are unknown.
func available(root fs.FS, machine int64) int64 {
	if machine <= 0 {
		machine = unknownMachine
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	least := machine
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; version 2 has no controllers.
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case controllers == "":
			least = min(least, groupLimit(root, "sys/fs/cgroup", group, "memory.max", machine))
		case strings.Contains(","+controllers+",", ",memory,"):
			least = min(least, groupLimit(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes", machine))
		}
	}
	return least
}

// groupLimit returns the least limit of a group and those above it. A container sees its own
// group as the root, whatever path the process has.
func groupLimit(root fs.FS, mount, group, file string, none int64) int64 {
	least := none
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(mount, dir, file))
		if n, perr := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && perr == nil && n > 0 {
			least = min(least, n)
		}
		if dir == "/" {
			return least
		}
	}
}
