package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"txlens/actors/job"
	"txlens/engine/api"
)

// A member is a server of a shared store. In the place of the lease it has a row in the table of
// members, which it renews. The clock of the database alone says which members live.
const (
	// memberLives is true of a row m of members; $1 is how long it lasts, in milliseconds.
	memberLives = memberSeen + ` AND NOT m.leaving`
	// memberSeen is true also of one that ends its runs.
	memberSeen = `m.seen_at > now() - $1 * INTERVAL '1 millisecond'`

	putMember   = `INSERT INTO members (name, address, version, epoch, seen_at) VALUES ($1, $2, $3, $4, now())`
	renewMember = `UPDATE members SET seen_at = now() WHERE name = $1`
	// lockMember keeps the row until the transaction ends, but not from being renewed.
	lockMember   = `SELECT epoch FROM members WHERE name = $1 FOR KEY SHARE`
	leaveMember  = `UPDATE members SET leaving = true WHERE name = $1`
	deleteMember = `DELETE FROM members WHERE name = $1`
	// endMembers waits for the transactions of members, and lets them write nothing more.
	deleteAll   = `DELETE FROM members`
	liveMembers = `SELECT name, address FROM members m WHERE ` + memberLives + ` ORDER BY epoch LIMIT 1`
	countLive   = `SELECT count(*) FROM members m WHERE ` + memberLives
)

// join gives the lease back and makes this process a member, all at once.
func (s *Store) join(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, putMember, s.owner, s.options.Address, s.options.Version, s.epoch); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, giveLease, leaseName, s.owner, s.epoch)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrLeaseLost
		}
		return err
	})
	s.joined = err == nil
	return err
}

// lease is how long the row of a member lasts, in milliseconds.
func (s *Store) lease() int64 { return s.options.Lease.Milliseconds() }

// readMember returns a member that lives; the name is empty if there is none.
func (s *Store) readMember(ctx context.Context) (o Owner, err error) {
	err = s.writer.QueryRow(ctx, liveMembers, s.lease()).Scan(&o.Name, &o.Address)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return o, err
}

// Members is the number of servers that share the store, this one included. It is 1 for a store that is
// not shared, and as of the last renewal.
func (s *Store) Members() int { return max(1, int(s.members.Load())) }

// countMembers reads how many members live.
func (s *Store) countMembers(ctx context.Context) {
	var n int64
	if err := s.keeper.QueryRow(ctx, countLive, s.lease()).Scan(&n); err == nil {
		s.members.Store(n)
	}
}

// takeJobs gives jobs that no server has to this one. A job belongs to its writer while that is a member
// that lives; all jobs belong to the holder of the lease while there is one. A look with the number of one
// that was committed returns the same jobs.
const takeJobs = `WITH done AS (SELECT jobs FROM jobs_taken WHERE member = $3 AND look = $6),
	free AS (
		SELECT j.id FROM jobs j WHERE j.status IN ('pending', 'running') AND j.id >= $2 AND j.writer <> $3
			AND NOT EXISTS (SELECT FROM members m WHERE m.name = j.writer AND ` + memberLives + `)
			AND NOT EXISTS (SELECT FROM leases l WHERE l.name = '` + leaseName + `' AND l.expires_at > now())
			AND NOT EXISTS (SELECT FROM done)
		ORDER BY j.id LIMIT $4 FOR UPDATE OF j SKIP LOCKED),
	took AS (UPDATE jobs SET writer = $3, epoch = GREATEST(jobs.epoch, $5) FROM free WHERE jobs.id = free.id RETURNING jobs.id),
	noted AS (INSERT INTO jobs_taken (member, look, jobs) SELECT $3, $6, array_agg(id) FROM took HAVING count(*) > 0
		ON CONFLICT (member) DO UPDATE SET look = excluded.look,
			jobs = CASE WHEN jobs_taken.look = excluded.look THEN jobs_taken.jobs || excluded.jobs ELSE excluded.jobs END
		RETURNING jobs)
	SELECT unnest(jobs)::text FROM noted UNION ALL SELECT unnest(jobs)::text FROM done`

// TakeJobs makes unfinished jobs of servers that have ended those of this one, at most limit, and returns
// them, oldest first. It returns none unless the store is shared. After an error the next call returns what
// the failed one may have taken. It is not called twice at a time.
func (s *Store) TakeJobs(limit int) ([]job.Row, error) {
	if !s.options.Shared || limit <= 0 {
		return nil, nil
	}
	var ids []string
	st := statement{
		sql: takeJobs, args: []any{s.lease(), s.oldest(api.JobRetention), s.owner, limit, s.epoch, s.look},
		all: func(rows pgx.Rows) (err error) { ids, err = pgx.CollectRows(rows, pgx.RowTo[string]); return err },
	}
	if err := s.apply(0, st); err != nil {
		return nil, fmt.Errorf("take jobs: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.unfinished(`id = ANY($2::uuid[]) AND writer = $3`, ids, s.owner)
	if err == nil {
		s.look++
	}
	return rows, err
}

// BeginRun notes for other members that this one works on a run. It does not wait; the note is a help for
// clients that ask another server, so its loss is no error.
func (s *Store) BeginRun(id string) (end func()) {
	if !s.options.Shared {
		return func() {}
	}
	s.noteRun(`INSERT INTO runs_at_work (id, member) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, s.owner)
	return func() { s.noteRun(`DELETE FROM runs_at_work WHERE id = $1`, id) }
}

func (s *Store) noteRun(sql string, args ...any) {
	s.sendThen(write{statements: []statement{{sql: sql, args: args}}, unleased: true, onDone: func(err error) {
		if err != nil {
			s.options.Log.Warn("note a run at work", "error", err)
		}
	}})
}

// RunAtWork reports whether a member that lives works on a run.
func (s *Store) RunAtWork(id string) (atWork bool, err error) {
	if !s.options.Shared || checkID(id) != nil {
		return false, nil
	}
	const sql = `SELECT EXISTS (SELECT FROM runs_at_work r, members m WHERE r.id = $2 AND m.name = r.member AND ` + memberSeen + `)`
	err = s.row(nil, sql, []any{s.lease(), id}, &atWork)
	return atWork, err
}

// tends reports whether this process deletes what has expired: of members the one that joined first. If
// two do so for a moment, nothing is deleted that must stay.
func (s *Store) tends() bool {
	if !s.options.Shared {
		return true
	}
	ctx, cancel := context.WithTimeout(s.hold.context(), StatementTimeout)
	defer cancel()
	first, err := s.readMember(ctx)
	return err == nil && first.Name == s.owner
}

// forgetMembers deletes what members have left that ended without saying so.
func (s *Store) forgetMembers() error {
	const old = `INTERVAL '1 day'` // no run takes so long, and no member that was paused comes back after it
	return s.apply(0,
		statement{sql: `DELETE FROM members WHERE seen_at < now() - ` + old},
		statement{sql: `DELETE FROM jobs_taken t WHERE NOT EXISTS (SELECT FROM members m WHERE m.name = t.member)`},
		statement{sql: `DELETE FROM runs_at_work WHERE since < now() - ` + old})
}

// hasMembers reports whether the schema has members: one of an earlier version has none.
func (s *Store) hasMembers(ctx context.Context) (has bool, err error) {
	err = s.writer.QueryRow(ctx, `SELECT to_regclass('members') IS NOT NULL`).Scan(&has)
	return has, err
}

// liveMember returns a member that lives. The name is empty if there is none, or for a member, which does
// not mind.
func (s *Store) liveMember(ctx context.Context) (o Owner, err error) {
	if s.options.Shared {
		return Owner{}, nil
	}
	has, err := s.hasMembers(ctx)
	if err != nil || !has {
		return Owner{}, err
	}
	return s.readMember(ctx)
}

// endMembers ends the members that do not live, now that this process has the lease. ended is false if one
// lives that joined in the moment before; the lease is given back then.
func (s *Store) endMembers(ctx context.Context) (ended bool, err error) {
	live, err := s.liveMember(ctx)
	if err != nil {
		return false, err
	}
	if live.Name != "" {
		return false, s.giveLease()
	}
	has, err := s.hasMembers(ctx)
	if err == nil && has {
		_, err = s.writer.Exec(ctx, deleteAll)
	}
	return err == nil, err
}
