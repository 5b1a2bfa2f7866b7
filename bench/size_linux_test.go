package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkBinary says what the program costs before it does anything, as it is
// released: static, stripped, without cgo.
//
//	MB          size of the file
//	version-ms  median time of txlens --version; each has a process of its own
//	version-cpu-ms  its processor time, which other work on the machine changes less
//	rss-MB      resident memory of txlens serve that has answered nobody
//
//	go test -run '^$' -bench Binary -benchtime 50x ./bench
func BenchmarkBinary(b *testing.B) {
	program := filepath.Join(b.TempDir(), "txlens")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "../cmd/txlens")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	var took, cpu []float64
	for b.Loop() {
		version := exec.Command(program, "--version")
		start := time.Now()
		if out, err := version.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		took = append(took, float64(time.Since(start).Microseconds())/1e3)
		cpu = append(cpu, float64((version.ProcessState.UserTime()+version.ProcessState.SystemTime()).Microseconds())/1e3)
	}
	slices.Sort(took)
	slices.Sort(cpu)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ReportMetric(took[len(took)/2], "version-ms")
	b.ReportMetric(cpu[len(cpu)/2], "version-cpu-ms")
	b.ReportMetric(restingMemory(b, program), "rss-MB")
}

// restingMemory starts a server and reads its resident memory a few seconds after it
// began to serve.
func restingMemory(b *testing.B, program string) float64 {
	dir := b.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--grace", "1s", "--rpc-only", "--rpc", "1=http://127.0.0.1:1")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(log.Name())
		if servingAt.Match(raw) {
			break
		}
		if time.Now().After(end) {
			b.Fatalf("it does not serve: %s", raw)
		}
	}
	time.Sleep(3 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb * 1024 / 1e6
}
