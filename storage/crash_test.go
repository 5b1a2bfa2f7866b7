package storage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/internal/dice"
)

// crashDir names the folder a child writes to until it is killed.
const crashDir = "TXLENS_TEST_CRASH_DIR"

// content is what belongs under an id: who reads it needs nothing but the id. One
// in sixteen takes several chunks.
func content(id string) []byte {
	h := fnv.New64a()
	h.Write([]byte(id))
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	n := 1 + r.IntN(2000)
	if r.IntN(16) == 0 {
		n += 2 * chunkSize
	}
	out := make([]byte, 0, n+8)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, r.Uint64())
	}
	return out
}

// writeUntilKilled takes jobs through their states and writes runs, and says on
// stdout, after each acknowledgement, what is on disk now. Expiry runs beside it.
func writeUntilKilled(dir string) {
	s, err := Open(dir, Options{ExpireEvery: time.Millisecond})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	say := func(format string, args ...any) { os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") }
	for range 8 {
		go func() {
			for {
				if err := writeOne(s, say); err != nil {
					say("write: %v", err)
					os.Exit(1)
				}
			}
		}()
	}
	select {}
}

func writeOne(s *Store, say func(string, ...any)) error {
	row := newJob(recordid.New())
	for _, row.Status = range []api.JobStatus{api.JobPending, api.JobRunning, api.JobComplete} {
		if row.Status == api.JobComplete {
			row.Result, row.HTML = content(row.ID), []byte("<p>"+row.ID)
		}
		if err := s.PutJobs(row); err != nil {
			return err
		}
		say("job %s %s", row.ID, row.Status)
	}
	run := job.RunRow{ID: recordid.New(), State: job.RunReplayable, FinishedAt: 7}
	run.Frames = content(run.ID)
	if err := s.PutRun(run); err != nil {
		return err
	}
	say("run %s", run.ID)
	// One that is over already gives the expiry something to delete.
	old := newJob(idAt(time.Now().Add(-api.JobRetention), rand.New(rand.NewPCG(rand.Uint64(), 0))))
	old.Status, old.Result = api.JobComplete, content(old.ID)
	return s.PutJobs(old)
}

// TestKilled kills a writing process again and again, at random moments, and looks
// for what it had acknowledged. TXLENS_KILLS asks for more kills.
func TestKilled(t *testing.T) {
	kills := 12
	if text := os.Getenv("TXLENS_KILLS"); text != "" {
		kills = must(strconv.Atoi(text))(t)
	}
	const perFile = 20
	rnd := dice.New(t)
	dir, acknowledged, lost := "", 0, 0
	var jobs map[string]api.JobStatus
	var runs map[string]bool
	for n := range kills {
		if n%perFile == 0 {
			dir, jobs, runs = t.TempDir(), map[string]api.JobStatus{}, map[string]bool{}
		}
		acknowledged += writeAndKill(t, dir, dice.UpTo(rnd, 120*time.Millisecond), jobs, runs)
		lost += missing(t, dir, jobs, runs)
	}
	t.Logf("%d kills, %d acknowledged writes, %d lost", kills, acknowledged, lost)
	if acknowledged < kills {
		t.Error("too few writes to say anything")
	}
}

// writeAndKill runs a child until so long after its first acknowledgement and notes
// all of them.
func writeAndKill(t *testing.T, dir string, after time.Duration, jobs map[string]api.JobStatus, runs map[string]bool) (acknowledged int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that was cut off was not acknowledged
		}
		if acknowledged++; acknowledged == 1 {
			time.AfterFunc(after, func() { cmd.Process.Signal(syscall.SIGKILL) })
		}
		switch w := strings.Fields(line); {
		case len(w) == 3 && w[0] == "job":
			jobs[w[1]] = api.JobStatus(w[2])
		case len(w) == 2 && w[0] == "run":
			runs[w[1]] = true
		default:
			t.Fatalf("the child says %q", line)
		}
	}
	cmd.Wait()
	return acknowledged
}

// missing opens what the kill left and counts what is not as acknowledged. A state
// may be further than that: the kill came between the commit and the word of it.
func missing(t *testing.T, dir string, jobs map[string]api.JobStatus, runs map[string]bool) (lost int) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(t, s)
	rank := map[api.JobStatus]int{api.JobPending: 0, api.JobRunning: 1, api.JobComplete: 2}
	for id, status := range jobs {
		row, err := s.Job(id)
		whole := row.Status != api.JobComplete || bytes.Equal(row.Result, content(id)) && string(row.HTML) == "<p>"+id
		if err != nil || rank[row.Status] < rank[status] || !whole {
			t.Errorf("job %s: %s, %v, whole: %v; acknowledged as %s", id, row.Status, err, whole, status)
			lost++
		}
	}
	for id := range runs {
		row, err := s.Run(id)
		if err != nil || !bytes.Equal(row.Frames, content(id)) {
			t.Errorf("run %s: %v", id, errors.Join(err, fmt.Errorf("%d bytes", len(row.Frames))))
			lost++
		}
	}
	return lost
}
