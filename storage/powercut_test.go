package storage

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/internal/dice"
	"txlens/internal/powercut"
	"txlens/testkit/size"
)

// powercutEnv has a child write to a folder: its value is the way, a colon and the
// folder.
const powercutEnv = "TXLENS_TEST_POWERCUT_DIR"

// writeTraced opens a store and writes from four goroutines, and prints a line for
// what is acknowledged. The way "nosync" is a store that never syncs.
func writeTraced(how, dir string) error {
	s, err := Open(dir, Options{ExpireEvery: -1})
	if err != nil {
		return err
	}
	s.db.NoSync = how == "nosync"
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	say("open")
	failed := make(chan error, 4)
	for worker := range 4 {
		go func() {
			for round := range 6 {
				if err := writeOne(s, say); err != nil {
					failed <- err
					return
				}
				if err := payOne(s, byte(worker), uint64(round+1), say); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			return err
		}
	}
	return s.Close()
}

// payOne raises a channel's voucher, then charges for it under a ticket, as the
// server does before it answers either.
func payOne(s *Store, channelID byte, n uint64, say func(string, ...any)) error {
	row := fullRow(channelID)
	row.Deposit = tempo.MaxAmount
	row.Highest.Cumulative, row.Spent = amount(1000*n), amount(1000*(n-1))
	if err := s.Commit(channel.Entry{Channel: &row}); err != nil {
		return err
	}
	say("voucher %d %d", channelID, n)
	row.Spent = amount(1000 * n)
	bill := channel.Bill{ID: recordid.New(), Collected: amount(1000), Price: amount(n)}
	ticket := channel.Ticket{Key: channel.TicketKey{channelID, byte(n)}, Bill: bill.ID, Charged: amount(1000)}
	if err := s.Commit(channel.Entry{Channel: &row, Bill: &bill, Ticket: &ticket}); err != nil {
		return err
	}
	say("charge %d %d %s", channelID, n, bill.ID)
	return nil
}

// lostAfter opens what a power cut has left and lists what was acknowledged and is
// not there.
func lostAfter(dir string, said []string) (lost []string) {
	if len(said) == 0 {
		return nil // nobody was told of anything
	}
	s, err := Open(dir, Options{ExpireEvery: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close()
	rank := map[api.JobStatus]int{api.JobPending: 0, api.JobRunning: 1, api.JobComplete: 2}
	for _, line := range said {
		var fault error
		switch w := strings.Fields(line); w[0] {
		case "job":
			row, err := s.Job(w[1])
			if fault = err; err == nil && rank[row.Status] < rank[api.JobStatus(w[2])] {
				fault = fmt.Errorf("it is %s", row.Status)
			}
		case "run":
			_, fault = s.Run(w[1])
		case "voucher":
			fault = s.atLeast(w, func(row session.Channel) tempo.Amount { return row.Highest.Cumulative })
		case "charge":
			fault = s.atLeast(w, func(row session.Channel) tempo.Amount { return row.Spent })
			if _, err := s.Bill(w[3]); err != nil {
				fault = err
			}
			if ticket, err := s.Ticket(channel.TicketKey{number(w[1]), number(w[2])}); err != nil || ticket.Bill != w[3] {
				fault = fmt.Errorf("ticket of bill %s: %v", ticket.Bill, err)
			}
		}
		if fault != nil {
			lost = append(lost, fmt.Sprintf("%s: %v", line, fault))
		}
	}
	return lost
}

func number(text string) byte {
	n, _ := strconv.Atoi(text)
	return byte(n)
}

// atLeast reports a channel whose sum is below the one of a line.
func (s *Store) atLeast(line []string, sum func(session.Channel) tempo.Amount) error {
	row, err := s.Channel(common.Hash{number(line[1])})
	if err != nil {
		return err
	}
	if want := amount(1000 * uint64(number(line[2]))); sum(row).Cmp(want) < 0 {
		return fmt.Errorf("%s of %s", sum(row), want)
	}
	return nil
}

// recordWrites runs a child that writes below dir.
func recordWrites(t *testing.T, how, root, dir string) *powercut.Recording {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), powercutEnv+"="+how+":"+dir)
	child.Stderr = os.Stderr
	return powercut.Record(t, root, child)
}

// cutMany cuts the power at random moments and where names change, and returns what the cuts have lost of what
// was acknowledged before and during the recording. TXLENS_CUTS asks for more.
func cutMany(t *testing.T, rec *powercut.Recording, dir string, before []string, enough func(lost []string) bool) (lost []string) {
	t.Helper()
	cuts := size.Of(8, 40)
	if text := os.Getenv("TXLENS_CUTS"); text != "" {
		cuts = must(strconv.Atoi(text))(t)
	}
	rnd := dice.New(t)
	moments := slices.Repeat(rec.Renamed(), size.Of(1, 3))
	for range cuts {
		moments = append(moments, rnd.IntN(rec.Len()+1))
	}
	for n, at := range moments {
		to := t.TempDir()
		if err := rec.Cut(to, at, rnd); err != nil {
			t.Fatal(err)
		}
		if found := lostAfter(filepath.Join(to, dir), append(rec.Said(at), before...)); len(found) > 0 {
			lost = append(lost, fmt.Sprintf("cut %d after event %d of %d: %s", n, at, rec.Len(), strings.Join(found, "; ")))
		}
		if err := os.RemoveAll(to); err != nil { // all of them together take gigabytes
			t.Fatal(err)
		}
		if enough(lost) {
			break
		}
	}
	return lost
}

// TestPowerCut: what the store has acknowledged is there after a power cut at any
// moment, in a new folder, in one that was there before, and while the file is
// compacted.
func TestPowerCut(t *testing.T) {
	f := func(name string, prepare func(t *testing.T, dir string) []string, dir string) {
		t.Helper()
		root := t.TempDir()
		before := prepare(t, filepath.Join(root, dir))
		rec := recordWrites(t, "sync", root, filepath.Join(root, dir))
		lost := cutMany(t, rec, dir, before, func(lost []string) bool { return len(lost) > 2 })
		for _, text := range lost {
			t.Errorf("%s: %s", name, text)
		}
		if said := rec.Said(rec.Len()); len(said) < 4*6*6 {
			t.Errorf("%s: only %d lines are acknowledged", name, len(said))
		}
	}
	f("new folders", func(*testing.T, string) []string { return nil }, "var/lib")
	f("database", written, "data")
	f("compaction", bloat, "data")
}

// written makes a database that holds something, and returns what it acknowledged.
func written(t *testing.T, dir string) (said []string) {
	t.Helper()
	s := open(t, dir, Options{ExpireEvery: -1})
	for channelID := range byte(100) {
		if err := payOne(s, 100+channelID, 1, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return said
}

// bloat is written, with a file that is worth compacting: most of it is free.
func bloat(t *testing.T, dir string) (said []string) {
	t.Helper()
	said = written(t, dir)
	c := newClock()
	s := open(t, dir, Options{Now: c.Now, ExpireEvery: -1})
	for range 20 {
		row := newJob(idAt(c.Now(), rnd))
		row.Status, row.Result = api.JobComplete, noise(rnd, 1<<20)
		if err := s.PutJobs(row); err != nil {
			t.Fatal(err)
		}
	}
	c.add(2 * api.JobRetention)
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info := must(os.Stat(filepath.Join(dir, FileName)))(t); info.Size() < minCompactSize {
		t.Fatalf("%d bytes are not worth compacting", info.Size())
	}
	return said
}

// TestPowerCutWithoutSync: a store that does not sync loses what it has acknowledged,
// and TestPowerCut would notice.
func TestPowerCutWithoutSync(t *testing.T) {
	root := t.TempDir()
	rec := recordWrites(t, "nosync", root, root)
	if lost := cutMany(t, rec, ".", nil, func(lost []string) bool { return len(lost) > 0 }); len(lost) == 0 {
		t.Error("nothing is lost")
	}
}

// TestSyncs: no way to open the database leaves a commit unsynced.
func TestSyncs(t *testing.T) {
	f := func(name, dir string) {
		t.Helper()
		s := open(t, dir, Options{ExpireEvery: -1})
		if s.db.NoSync || s.db.NoGrowSync {
			t.Errorf("%s: NoSync %v, NoGrowSync %v", name, s.db.NoSync, s.db.NoGrowSync)
		}
	}
	f("a new one", t.TempDir())
	there := t.TempDir()
	written(t, there)
	f("one that is there", there)
	large := t.TempDir()
	bloat(t, large)
	f("one that is compacted", large)
	if info := must(os.Stat(filepath.Join(large, FileName)))(t); info.Size() >= minCompactSize {
		t.Errorf("it was not compacted: %d bytes", info.Size())
	}
}
