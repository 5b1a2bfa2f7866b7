package main

import (
	"bufio"
	"strings"
	"testing"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/storage"
	"txlens/testkit/pgtest"
)

// TestKilledCopy: a copy into PostgreSQL that is killed is continued at once by the same command. Its
// lease, which lasts for longer than the command waits, is that of a process without a session.
func TestKilledCopy(t *testing.T) {
	url := pgtest.Shared(t).Create(t)
	dir := t.TempDir()
	s, err := storage.Open(dir, storage.Options{})
	for n := 0; n < 2000 && err == nil; n++ {
		err = s.PutRun(job.RunRow{ID: recordid.New(), State: job.RunErrored})
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"copy", "--from", "bolt:" + dir, "--to", url}
	for n := range 3 {
		cmd := program(t, append([]string{"store"}, args...)...)
		progress, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &serverProcess{t: t, cmd: cmd}
		t.Cleanup(s.kill)
		lines := bufio.NewScanner(progress)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "runs: ") {
			if strings.HasPrefix(lines.Text(), "txlens: ") {
				t.Fatalf("copy %d: %s", n, lines.Text())
			}
		}
		s.kill()
		if code, out, fault := runStore("check", "--store", url); code != exitBadInput || !strings.Contains(fault, "has not ended") {
			t.Fatalf("after the kill of copy %d: exit %d\n%s%s", n, code, out, fault)
		}
	}
	code, copied, fault := runStore(args...)
	if code != exitComplete {
		t.Fatal(fault)
	}
	if code, want, fault := runStore("check", "--data", dir); code != exitComplete || copied != want {
		t.Errorf("%s, want %s; %s", copied, want, fault)
	}
}
