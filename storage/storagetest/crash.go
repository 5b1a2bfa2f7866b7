package storagetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
)

// crashEnv names the database that a child process writes to until it is killed.
const crashEnv = "TXLENS_STORAGETEST_CRASH"

// Main makes the process the writer of the crash test if that started it, and does not return
// then. Call it first in TestMain.
func (s Suite) Main() {
	name := os.Getenv(crashEnv)
	if name == "" {
		return
	}
	store, err := s.Open(name, time.Now)
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	for range 8 {
		go func() {
			for {
				if err := writeSet(store); err != nil {
					fmt.Println("write:", err)
					os.Exit(1)
				}
			}
		}()
	}
	select {}
}

// bodyOf is what is stored under an id.
func bodyOf(id string) []byte {
	h := fnv.New64a()
	h.Write([]byte(id))
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	var out []byte
	for range 1 + r.IntN(250) {
		out = binary.LittleEndian.AppendUint64(out, r.Uint64())
	}
	return out
}

// hashOf is the id of a channel that belongs to an id.
func hashOf(id string) common.Hash { return common.BytesToHash([]byte(id)[4:]) }

// writeSet writes one of each and says so after each acknowledgement. One call of Write
// carries a line, so that lines of several writers do not mix.
func writeSet(s Store) error {
	id := recordid.New()
	say := func(what string) { os.Stdout.WriteString(what + " " + id + "\n") }
	row := newJob(id)
	row.Status, row.Result = api.JobComplete, bodyOf(id)
	if err := s.Jobs.PutJobs(row); err != nil {
		return err
	}
	say("job")
	if err := s.Runs.PutRun(job.RunRow{ID: id, State: job.RunReplayable, Frames: bodyOf(id)}); err != nil {
		return err
	}
	say("run")
	channelRow := newChannel(hashOf(id), common.Address{1})
	if err := s.Commit(channel.Entry{Channel: &channelRow, Bill: &channel.Bill{ID: id, Collected: units(7)}}); err != nil {
		return err
	}
	say("entry")
	return nil
}

// testCrash kills a writing process at random moments and looks for what it acknowledged.
func (s Suite) testCrash(t *testing.T) {
	name, acknowledged := s.Create(t), map[string]bool{}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		s.writeAndKill(t, name, time.Duration(rnd.IntN(100))*time.Millisecond, acknowledged)
		s.findAll(t, name, acknowledged)
	}
	t.Logf("%d acknowledged writes", len(acknowledged))
	if len(acknowledged) < 50 {
		t.Error("too few writes")
	}
}

// writeAndKill kills a child so long after its first line and notes all of its lines.
func (s Suite) writeAndKill(t *testing.T, name string, after time.Duration, acknowledged map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var kill *time.Timer
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that is cut off was not acknowledged
		}
		if kill == nil {
			kill = time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		if w := strings.Fields(line); len(w) != 2 || w[0] != "job" && w[0] != "run" && w[0] != "entry" {
			t.Fatalf("the child says %q", line)
		}
		acknowledged[strings.TrimSpace(line)] = true
	}
	cmd.Wait()
}

// findAll opens a database and reports acknowledged writes that it does not have.
func (s Suite) findAll(t *testing.T, name string, acknowledged map[string]bool) {
	t.Helper()
	store, err := s.Open(name, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for what := range acknowledged {
		kind, id, _ := strings.Cut(what, " ")
		switch kind {
		case "job":
			if row, err := store.Jobs.Job(id); err != nil || !bytes.Equal(row.Result, bodyOf(id)) {
				t.Errorf("%s: %d bytes, %v", what, len(row.Result), err)
			}
		case "run":
			if row, err := store.Runs.Run(id); err != nil || !bytes.Equal(row.Frames, bodyOf(id)) {
				t.Errorf("%s: %d bytes, %v", what, len(row.Frames), err)
			}
		default:
			bill, err := store.Bill(id)
			row, rowErr := store.Channel(hashOf(id))
			if err != nil || rowErr != nil || bill.Collected != units(7) || row != newChannel(hashOf(id), common.Address{1}) {
				t.Errorf("%s: %v, %v", what, err, rowErr)
			}
		}
	}
}
