package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/testkit/size"
)

// wholeFile is a database with branches, overflowing leaves and an inline bucket,
// and the ids of what is in it.
func wholeFile(tb testing.TB, c *clock, entries int) (file []byte, ids []string) {
	tb.Helper()
	s, err := Open(tb.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	if err != nil {
		tb.Fatal(err)
	}
	defer s.Close()
	for range entries {
		job, run := newJob(idAt(c.Now(), rnd)), job.RunRow{ID: idAt(c.Now(), rnd), State: job.RunReplayable}
		c.add(time.Second)
		job.Status, job.Result, run.Frames = api.JobComplete, noise(rnd, rnd.IntN(600)), noise(rnd, rnd.IntN(600))
		if rnd.IntN(10) == 0 {
			run.Frames = noise(rnd, chunkSize+rnd.IntN(chunkSize))
		}
		if err := errors.Join(s.PutJobs(job), s.PutRun(run)); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, job.ID, run.ID)
	}
	var buf bytes.Buffer
	if _, err := s.Backup(&buf); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes(), ids
}

// useDamaged opens the file and uses all of it. What goes wrong must be an error:
// a panic, or memory that is not there, would end the test.
func useDamaged(t *testing.T, dir string, file []byte, c *clock, ids []string) (refused bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Now: c.Now, ExpireEvery: -1})
	if err != nil {
		var told *OpenError
		if !errors.As(err, &told) {
			t.Errorf("refused without advice: %v", err)
		}
		return true
	}
	for _, id := range ids {
		s.Job(id)
		s.Run(id)
	}
	s.UnfinishedJobs()
	s.OpenChannels(func(session.Channel) error { return nil })
	s.Intents()
	s.PutJobs(newJob(ids[0]), newJob(idAt(c.Now(), rnd)))
	s.PutRun(job.RunRow{ID: ids[1], State: job.RunReplayable, Frames: noise(rnd, 3*chunkSize)})
	c.add(40 * 24 * time.Hour)
	s.Expire()
	c.add(-40 * 24 * time.Hour)
	s.PutJobs(newJob(idAt(c.Now(), rnd)))
	s.Close()
	return false
}

// damage changes some bytes, mostly those that bbolt finds its way by, or cuts the
// file short.
func damage(whole []byte, r *rand.Rand) []byte {
	file := bytes.Clone(whole)
	page := os.Getpagesize()
	for range 1 + r.IntN(3) {
		start := r.IntN(len(file)/page) * page
		switch r.IntN(8) {
		case 0:
			file[r.IntN(len(file))] ^= byte(1 + r.IntN(255))
		case 1:
			clear(file[start : start+page])
		case 2:
			copy(file[start:start+page], file[r.IntN(len(file)/page)*page:])
		case 3:
			return file[:r.IntN(len(file))]
		default:
			file[start+r.IntN(64)] = byte(r.Uint32())
		}
	}
	return file
}

func TestDamagedFile(t *testing.T) {
	rounds := size.Of(40, 150)
	c := newClock()
	file, ids := wholeFile(t, c, 150)
	dir := t.TempDir()
	if useDamaged(t, dir, file, c, ids) {
		t.Fatal("a whole file is refused")
	}
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range rounds {
		if useDamaged(t, dir, damage(file, r), c, ids) {
			refused++
		}
	}
	t.Logf("%d damaged files, %d refused", rounds, refused)
	// About four in ten are refused: the rest hit pages out of use, or values.
	if refused < rounds/8 || refused == rounds {
		t.Error("damage is found always or hardly ever")
	}
}

func withoutFreePages(t *testing.T, file []byte) []byte {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, file, 0o600); err != nil {
		t.Fatal(err)
	}
	src := must(bolt.Open(from, 0o600, &bolt.Options{ReadOnly: true}))(t)
	dst := must(bolt.Open(to, 0o600, &bolt.Options{NoFreelistSync: true}))(t)
	if err := errors.Join(bolt.Compact(dst, src, 0), dst.Close(), src.Close()); err != nil {
		t.Fatal(err)
	}
	return must(os.ReadFile(to))(t)
}

// TestVerifyFinds: each thing that bbolt trusts in a page is looked at.
func TestVerifyFinds(t *testing.T) {
	c := newClock()
	used, ids := wholeFile(t, c, 150)
	whole := withoutFreePages(t, used)
	page := os.Getpagesize()
	find := func(flags byte) int { // the first page of that kind behind those that an empty file has
		for at := 4 * page; at < len(whole); at += page {
			if int(binary.NativeEndian.Uint64(whole[at:])) == at/page && whole[at+8] == flags && whole[at+10] > 1 {
				return at
			}
		}
		t.Fatalf("no page of flags %d", flags)
		return 0
	}
	branch, leaf := find(branchPage), find(leafPage)
	f := func(at int, value ...byte) {
		t.Helper()
		file := bytes.Clone(whole)
		copy(file[at:], value)
		if !useDamaged(t, t.TempDir(), file, c, ids) {
			t.Errorf("byte %d of a page was not looked at", at%page)
		}
	}
	for _, p := range []int{branch, leaf} {
		f(p, 0xff)                     // its own number
		f(p+8, 0x04)                   // kind
		f(p+10, 0xff, 0xff)            // number of elements
		f(p+12, 0xff, 0xff, 0xff)      // overflow
		f(p+12, 1)                     // overflow into a page of another
		f(p+pageHead+4, 0, 0, 0, 0xff) // leaf: where the key is; branch: its length
	}
	f(branch+10, 0, 0)                                             // no children
	f(branch+pageHead, 0xff, 0xff, 0xff, 0xff)                     // where the key is
	f(branch+pageHead+8, 1)                                        // a child that is meta
	f(branch+pageHead+8, 0xff, 0xff, 0xff)                         // a child beyond the end
	f(branch+pageHead+8, whole[branch+pageHead+pageElement+8:][0]) // a child of two places
	f(branch+pageHead+4, 0, 0, 0, 0)                               // an empty key
	f(leaf+pageHead, 2)                                            // flags of an element
	f(leaf+pageHead, 1)                                            // a bucket that is none
	f(leaf+pageHead+12, 0xff, 0xff, 0xff, 0x7f)                    // length of a value
	f(leaf+pageHead+4, whole[leaf+pageHead+pageElement+4:][:4]...) // keys out of order
}

// FuzzStoredRecord reads whatever stands in the place of a record.
func FuzzStoredRecord(f *testing.F) {
	now := time.UnixMilli(1_760_000_000_000)
	id := idAt(now, rnd)
	head := `{"status":"complete","attempts":1,"request":{"txHash":"` + someHash + `"},"result":3,"html":2}`
	s, err := Open(f.TempDir(), Options{Now: func() time.Time { return now }, ExpireEvery: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	body, _ := s.pack([]byte("{} "), []byte("<>"))
	rid, _ := parseID(id)
	f.Add(rid.headKey(), []byte(head), body)
	f.Add(rid.headKey(), []byte(`{"status":"complete","result":9000000000000000000,"html":9000000000000000000}`), body)
	f.Add(rid.headKey(), []byte(`{"status":"complete","result":-1,"html":6}`), body)
	f.Add(rid.headKey(), []byte(`{"status":"complete","result":1073741824}`), body)
	f.Add(rid.headKey(), []byte(`{"status":"lost","result":5}`), body)
	f.Add(rid.headKey(), []byte(`{"state":"replayable","finishedAt":7,"frames":5}`), body)
	f.Add(rid.headKey(), []byte(`{"state":"replayable","frames":5}`), []byte(nil))
	f.Add(rid[:], []byte(head), body)
	f.Add([]byte{1}, []byte(head), body)
	f.Add(append(rid.headKey(), 0, 0, 0, 0), []byte(head), body)
	f.Add(rid.keyAfterRecord(), []byte(head), body)
	f.Fuzz(func(t *testing.T, key, head, body []byte) {
		if len(key) == 0 || len(key) > 64 {
			return
		}
		write := func(do func(b *bolt.Bucket) error) {
			t.Helper()
			if err := s.update(0, func(c *change) error {
				c.undo = append(c.undo, oldValue{}) // what is written past it is to be committed
				return errors.Join(do(c.tx.Bucket(bucketJobs)), do(c.tx.Bucket(bucketRuns)))
			}); err != nil {
				t.Fatal(err)
			}
		}
		keys := [][]byte{key, rid.chunkKey(0)}
		write(func(b *bolt.Bucket) error { return errors.Join(b.Put(keys[0], head), b.Put(keys[1], body)) })
		legal := []api.JobStatus{api.JobPending, api.JobRunning, api.JobComplete, api.JobError}
		if row, err := s.Job(id); err == nil && (row.ID != id || !slices.Contains(legal, row.Status)) {
			t.Errorf("%+v", row)
		}
		if row, err := s.Run(id); err == nil && row.State != job.RunReplayable && row.State != job.RunErrored && row.State != job.RunTooLarge {
			t.Errorf("a run that is %q", row.State)
		}
		if rows, err := s.UnfinishedJobs(); err == nil && len(rows) > 1 {
			t.Errorf("%d unfinished jobs", len(rows))
		}
		s.Expire()
		write(func(b *bolt.Bucket) error { return errors.Join(b.Delete(keys[0]), b.Delete(keys[1])) })
	})
}

// FuzzDamagedFile sets bytes of a whole file, at any place.
func FuzzDamagedFile(f *testing.F) {
	c := newClock()
	whole, ids := wholeFile(f, c, 60)
	page := os.Getpagesize()
	f.Add(uint32(0), []byte{0xff}, uint32(0))
	f.Add(uint32(page+8), []byte{0xff}, uint32(0))
	f.Add(uint32(2*page+10), []byte{0xff, 0xff}, uint32(5*page))
	f.Add(uint32(3*page+16), bytes.Repeat([]byte{0xff}, 16), uint32(0))
	f.Fuzz(func(t *testing.T, at uint32, value []byte, cut uint32) {
		file := bytes.Clone(whole)
		copy(file[int(at)%len(file):], value)
		if cut > 0 {
			file = file[:int(cut)%len(file)]
		}
		useDamaged(t, t.TempDir(), file, c, ids)
	})
}

// TestLengthOfNothing: a head that promises much more than its body holds costs no
// memory.
func TestLengthOfNothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{ExpireEvery: -1})
	id := recordid.New()
	body, err := s.pack(make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	rid, _ := parseID(id)
	if err := jobs.put(s, packedRecord[jobHead]{rid, jobHead{Status: api.JobComplete, Result: 1 << 30}, body}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.Job(id); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}
