package settings

import (
	"os"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// TestAvailable: what limits the memory of a process.
func TestAvailable(t *testing.T) {
	f := func(name string, files map[string]string, machine, want int64) {
		t.Helper()
		root := fstest.MapFS{}
		for path, text := range files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := available(root, machine); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	const gib = 1 << 30
	f("no groups", nil, 4*gib, 4*gib)
	f("an unknown machine", nil, 0, unknownMachine)
	f("a container of version 2", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 4*gib, 2*gib)
	f("no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 4*gib, 4*gib)
	f("more than the machine has", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "8589934592\n"}, 4*gib, 4*gib)
	f("a unit below a limited slice", map[string]string{
		"proc/self/cgroup": "0::/system.slice/txlens.service\n", "sys/fs/cgroup/system.slice/txlens.service/memory.max": "max\n",
		"sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
	}, 4*gib, gib)
	f("a unit", map[string]string{
		"proc/self/cgroup": "0::/system.slice/txlens.service\n", "sys/fs/cgroup/system.slice/txlens.service/memory.max": "536870912\n",
		"sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
	}, 4*gib, gib/2)
	f("version 1", map[string]string{
		"proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/docker/x\n",
		"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "1073741824\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		"sys/fs/cgroup/memory.max":                            "5\n",
	}, 4*gib, gib)
	f("nonsense", map[string]string{"proc/self/cgroup": "\nx\n0::/\n", "sys/fs/cgroup/memory.max": "-1\n"}, 4*gib, 4*gib)
}

// TestMemoryMax: the setting, and what the collector is told.
func TestMemoryMax(t *testing.T) {
	f := func(given ByteSize, want int64) {
		t.Helper()
		if got := (&Server{MemoryMax: given}).memoryMax(); got != want {
			t.Errorf("%d: %d, want %d", given, got, want)
		}
	}
	f(-1, 0)
	f(1e9, 1e9)
	f(0, max(leastMemory, available(os.DirFS("/"), machineMemory())/2))
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	limit := func(env string, bytes, want int64) {
		t.Helper()
		t.Setenv("GOMEMLIMIT", env)
		debug.SetMemoryLimit(7 << 30)
		if LimitMemory(bytes); debug.SetMemoryLimit(-1) != want {
			t.Errorf("GOMEMLIMIT=%s, %d: %d", env, bytes, debug.SetMemoryLimit(-1))
		}
	}
	limit("", 3<<30, 3<<30)
	limit("", 0, 7<<30)
	limit("1GiB", 3<<30, 7<<30)
}
