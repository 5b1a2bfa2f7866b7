//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/storage/storagetest"
)

// server is the URL of the PostgreSQL that the tests have started; empty: there is none.
var server string

var suite = storagetest.Suite{
	Create: create,
	Open: func(name string, now func() time.Time) (storagetest.Store, error) {
		s, err := Open(context.Background(), name, Options{Now: now, Lease: time.Second})
		if err != nil {
			return storagetest.Store{}, err
		}
		return storagetest.StoreOf(s), nil
	},
}

func TestMain(m *testing.M) {
	suite.Main()
	stop, err := startServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// program finds a program of PostgreSQL.
func program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		slices.Sort(found)
		return found[len(found)-1]
	}
	path, _ := exec.LookPath(name)
	return path
}

// startServer starts a PostgreSQL of its own on a socket in a folder of its own. It does not
// run as root, so there it runs as the user postgres.
func startServer() (stop func(), err error) {
	initdb, postgres := program("initdb"), program("postgres")
	if initdb == "" || postgres == "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	as := new(syscall.SysProcAttr)
	if os.Getuid() == 0 {
		var uid, gid int
		out, err := exec.Command("id", "-u", "postgres").Output()
		if err != nil {
			return nil, errors.New("there is no user postgres to run it as")
		}
		fmt.Sscan(string(out), &uid)
		out, _ = exec.Command("id", "-g", "postgres").Output()
		fmt.Sscan(string(out), &gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	cmd := exec.Command(initdb, "-D", data, "-A", "trust", "-U", "txlens", "--no-sync")
	cmd.SysProcAttr, cmd.Dir = as, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	run := exec.Command(postgres, "-D", data, "-k", dir, "-h", "")
	run.SysProcAttr, run.Dir = as, dir
	if err := run.Start(); err != nil {
		return nil, err
	}
	socket := url.Values{"host": {dir}}
	server = (&url.URL{Scheme: "postgres", User: url.User("txlens"), Path: "/postgres", RawQuery: socket.Encode()}).String()
	stop = func() {
		run.Process.Signal(syscall.SIGQUIT)
		run.Wait()
		os.RemoveAll(dir)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := pgx.Connect(context.Background(), server)
		if err == nil {
			return stop, c.Close(context.Background())
		}
		if time.Now().After(end) {
			stop()
			return nil, err
		}
	}
}

var databases atomic.Int64

// create makes an empty database.
func create(t *testing.T) string {
	t.Helper()
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("PostgreSQL is not installed")
		}
		t.Skip("PostgreSQL is not installed; the package postgresql has it")
	}
	c, err := pgx.Connect(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	name := fmt.Sprintf("test%d", databases.Add(1))
	if _, err := c.Exec(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(server, "/postgres?", "/"+name+"?", 1)
}

func open(t *testing.T, name string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestContract(t *testing.T) {
	create(t) // skips all of it where there is no PostgreSQL
	suite.Run(t)
}

func put(s *Store) error { return s.PutRun(job.RunRow{ID: recordid.New(), State: job.RunErrored}) }

// TestLease: a second process waits for the lease; Close gives it to it at once.
func TestLease(t *testing.T) {
	name := create(t)
	first := open(t, name, Options{})
	if _, err := Open(context.Background(), name, Options{LeaseWait: 300 * time.Millisecond}); !errors.Is(err, ErrLeased) {
		t.Errorf("while another writes: %v", err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := Open(context.Background(), name, Options{LeaseWait: time.Minute})
		if err == nil {
			err = errors.Join(put(s), s.Close())
		}
		opened <- err
	}()
	if err := errors.Join(put(first), first.Ping(), first.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestFence: a process whose lease was taken over writes nothing, whatever it believes.
func TestFence(t *testing.T) {
	name := create(t)
	for range 10 {
		old := open(t, name, Options{Lease: time.Hour})
		if err := put(old); err != nil {
			t.Fatal(err)
		}
		// As after a pause: the lease has ended by the clock of the database.
		if _, err := old.pool.Exec(context.Background(), `UPDATE leases SET expires_at = now() - INTERVAL '1 second'`); err != nil {
			t.Fatal(err)
		}
		late := job.RunRow{ID: recordid.New(), State: job.RunErrored}
		if err := old.PutRun(late); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("after the end of its lease: %v", err)
		}
		fresh := open(t, name, Options{Lease: time.Hour})
		if err := old.PutRun(late); !errors.Is(err, ErrLeaseLost) || !errors.Is(old.Ping(), ErrLeaseLost) {
			t.Errorf("after another took over: %v, %v", err, old.Ping())
		}
		if _, err := fresh.Run(late.ID); err == nil {
			t.Error("a process without a lease has written")
		}
		if fresh.epoch != old.epoch+1 {
			t.Errorf("epoch %d after %d", fresh.epoch, old.epoch)
		}
		if err := errors.Join(put(fresh), old.Close(), put(fresh), fresh.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestTakeoverWaitsForWrites: between the check of the lease and the commit nobody takes it over.
func TestTakeoverWaitsForWrites(t *testing.T) {
	ctx := context.Background()
	s := open(t, create(t), Options{Lease: time.Hour})
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if err := s.fence(ctx, tx); err != nil {
		t.Fatal(err)
	}
	other, err := s.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if _, err := other.Exec(ctx, `SET lock_timeout = 100`); err != nil {
		t.Fatal(err)
	}
	const end = `UPDATE leases SET expires_at = now()`
	if _, err := other.Exec(ctx, end); err == nil || !strings.Contains(err.Error(), "55P03") {
		t.Errorf("while a write is under way: %v", err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, end); err != nil {
		t.Error(err)
	}
}

// TestConstraints: the database refuses rows that the program must never write.
func TestConstraints(t *testing.T) {
	s := open(t, create(t), Options{})
	f := func(sql, constraint string) {
		t.Helper()
		if _, err := s.pool.Exec(context.Background(), sql); err == nil || !strings.Contains(err.Error(), constraint) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	id := recordid.New()
	f(`INSERT INTO bills VALUES ('`+id+`', '\x00', '\x00', 0, 0, true, true)`, "bills_")
	f(`INSERT INTO tickets VALUES (decode(repeat('00', 32), 'hex'), '`+id+`', -1)`, "tickets_charged_check")
	f(`INSERT INTO tickets VALUES (decode(repeat('00', 32), 'hex'), '`+id+`', 79228162514264337593543950336)`, "tickets_charged_check")
	f(`INSERT INTO jobs VALUES ('`+id+`', 'odd', 1, '', '', '', 0, 0, '')`, "jobs_status_check")
	f(`INSERT INTO runs VALUES ('`+id+`', 3, 'errored', 0, 0, '')`, "runs_class_check")
	sets := slices.Clone(channelColumns)
	row := strings.Join(sets, ", ")
	insert := func(spent, credit, highest, settleable int) string {
		a, h := `decode(repeat('00', 20), 'hex')`, `decode(repeat('00', 32), 'hex')`
		hashes := strings.Join([]string{a, a, a, a, a, a, h, h, h, h}, ", ")
		return fmt.Sprintf(`INSERT INTO channels (%s) VALUES
			(%s, 2, 1, %s, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, %d, %d, 0, 0, %d, '', %d, '', 0, '')`,
			row, h, hashes, spent, credit, highest, settleable)
	}
	f(insert(1, 2, 0, 0), "credit_is_part_of_spent")
	f(insert(1, 1, 1, 2), "settleable_is_accepted")
	if _, err := s.pool.Exec(context.Background(), insert(1, 1, 1, 1)); err != nil {
		t.Error(err)
	}
}

// TestNewerSchema: a database that a later program wrote is refused.
func TestNewerSchema(t *testing.T) {
	name := create(t)
	s := open(t, name, Options{})
	if _, err := s.pool.Exec(context.Background(), `INSERT INTO schema_versions VALUES ($1)`, lastMigration+1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), name, Options{}); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

// TestUnreadableURL: what may be a password is not repeated.
func TestUnreadableURL(t *testing.T) {
	if _, err := Open(context.Background(), "postgres://user:hidden@[bad", Options{}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}
