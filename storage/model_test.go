package storage

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"sort"
	"testing"
	"time"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/testkit/size"
)

// model is the store as a plain map.
type model struct {
	clock *clock
	jobs  map[string]job.Row
	runs  map[string]job.RunRow
	ids   []string // all ever made
}

func (m *model) lives(id string, keep time.Duration) bool {
	rid, err := parseID(id)
	return err == nil && m.clock.Now().Sub(rid.created()) < keep
}

func (m *model) unfinished() []job.Row {
	var rows []job.Row
	for id, row := range m.jobs {
		if m.lives(id, api.JobRetention) && row.Status.Unfinished() {
			row.Result, row.HTML = nil, nil
			rows = append(rows, row)
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].ID < rows[j].ID })
	return rows
}

// TestAgainstModel runs random operations on the store and on a map, and compares
// what each says.
func TestAgainstModel(t *testing.T) {
	for seed := range size.Of[uint64](2, 4) {
		runModel(t, rand.New(rand.NewPCG(seed, 7)), size.Of(300, 1000))
	}
}

func runModel(t *testing.T, rnd *rand.Rand, steps int) {
	t.Helper()
	m := &model{clock: newClock(), jobs: map[string]job.Row{}, runs: map[string]job.RunRow{}}
	dir := t.TempDir()
	o := Options{Now: m.clock.Now, ExpireEvery: -1}
	s := open(t, dir, o)
	for range steps {
		switch p := rnd.IntN(100); {
		case p < 35:
			m.putJobs(t, s, rnd)
		case p < 55:
			m.putRun(t, s, rnd)
		case p < 85:
			m.compareOne(t, s, m.someID(rnd))
		case p < 92:
			m.clock.add(time.Duration(rnd.Int64N(int64(20 * time.Minute))))
		case p < 93:
			m.refuse(t, s, rnd)
		case p < 95:
			m.clock.add(time.Duration(rnd.Int64N(int64(8 * 24 * time.Hour))))
		case p < 97:
			m.compareUnfinished(t, s)
			if _, err := s.Expire(); err != nil {
				t.Fatal(err)
			}
		default:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, o)
		}
	}
	for _, id := range m.ids {
		m.compareOne(t, s, id)
	}
	m.compareUnfinished(t, s)
	check(t, s)
	m.clock.add(60 * 24 * time.Hour)
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	if j, r := keys(t, s, bucketJobs), keys(t, s, bucketRuns); j+r != 0 {
		t.Errorf("%d keys of jobs and %d of runs are left after all has expired", j, r)
	}
}

func (m *model) newID(rnd *rand.Rand) string {
	id := idAt(m.clock.Now(), rnd)
	m.ids = append(m.ids, id)
	return id
}

// someID is mostly one of the last, which have not expired.
func (m *model) someID(rnd *rand.Rand) string {
	if len(m.ids) == 0 || rnd.IntN(20) == 0 {
		return idAt(m.clock.Now(), rnd)
	}
	if recent := 20; len(m.ids) > recent && rnd.IntN(4) > 0 {
		return m.ids[len(m.ids)-1-rnd.IntN(recent)]
	}
	return m.ids[rnd.IntN(len(m.ids))]
}

// body is nothing, or up to some chunks; sizes at a border come often.
func body(rnd *rand.Rand) []byte {
	switch rnd.IntN(5) {
	case 0:
		return nil
	case 1:
		return noise(rnd, 1+rnd.IntN(3)*chunkSize)
	case 2:
		return make([]byte, 1+rnd.IntN(1<<20)) // compresses to nearly nothing
	default:
		return noise(rnd, 1+rnd.IntN(3000))
	}
}

func (m *model) putJobs(t *testing.T, s *Store, rnd *rand.Rand) {
	t.Helper()
	rows := make([]job.Row, 1+rnd.IntN(3))
	for i := range rows {
		id := m.newID(rnd)
		if rnd.IntN(2) == 0 {
			id = m.someID(rnd)
		}
		row := newJob(id)
		row.Status = []api.JobStatus{api.JobPending, api.JobRunning, api.JobComplete, api.JobError}[rnd.IntN(4)]
		row.Attempts = rnd.IntN(3)
		switch row.Status {
		case api.JobComplete:
			row.Result, row.HTML = body(rnd), body(rnd)
		case api.JobError:
			row.Error, row.ErrorCode = "it broke", api.CodeInternal
		}
		rows[i] = row
	}
	if err := s.PutJobs(rows...); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		m.jobs[row.ID] = row
	}
}

func (m *model) putRun(t *testing.T, s *Store, rnd *rand.Rand) {
	t.Helper()
	row := job.RunRow{ID: m.newID(rnd), State: job.RunErrored, FinishedAt: m.clock.Now().Unix()}
	if rnd.IntN(3) == 0 {
		row.ID = m.someID(rnd)
	}
	if frames := body(rnd); frames != nil {
		row.State, row.Frames = job.RunReplayable, frames
	}
	if err := s.PutRun(row); err != nil {
		t.Fatal(err)
	}
	m.runs[row.ID] = row
}

// refuse writes over a record and fails, between two that are committed with it.
func (m *model) refuse(t *testing.T, s *Store, rnd *rand.Rand) {
	t.Helper()
	refused := errors.New("refused")
	write := func(id string, then error, body ...[]byte) func(*change) error {
		p := must(jobs.pack(s, id, jobHead{Status: api.JobPending, Attempts: 7, Request: newJob(id).Request}, body...))(t)
		return func(c *change) error { return errors.Join(jobs.putOne(c, p), then) }
	}
	first, last := m.newID(rnd), m.newID(rnd)
	errs := inOneGroup(t, s, write(first, nil), write(m.someID(rnd), refused, body(rnd)), write(last, nil))
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil {
		t.Fatal(errs)
	}
	for _, id := range []string{first, last} {
		row := newJob(id)
		row.Attempts = 7
		m.jobs[id] = row
	}
}

func (m *model) compareUnfinished(t *testing.T, s *Store) {
	t.Helper()
	if got, want := must(s.UnfinishedJobs())(t), m.unfinished(); !reflect.DeepEqual(got, want) {
		t.Fatalf("unfinished jobs: %d, want %d", len(got), len(want))
	}
}

func (m *model) compareOne(t *testing.T, s *Store, id string) {
	t.Helper()
	job, err := s.Job(id)
	want, ok := m.jobs[id]
	if ok = ok && m.lives(id, api.JobRetention); ok && (err != nil || !reflect.DeepEqual(job, want)) || !ok && !errors.Is(err, api.ErrNoJob) {
		t.Fatalf("job %s: %.200v, %v; want %.200v, %v", id, job, err, want, ok)
	}
	run, err := s.Run(id)
	wantRun, ok := m.runs[id]
	if ok = ok && m.lives(id, api.RunRetention); ok && (err != nil || !reflect.DeepEqual(run, wantRun)) || !ok && !errors.Is(err, api.ErrNoRun) {
		t.Fatalf("run %s: %.200v, %v; want %.200v, %v", id, run, err, wantRun, ok)
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
