package callers

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var someHash = hashPrefix + strings.Repeat("0", 63)

func TestParse(t *testing.T) {
	f := func(text string, callers int, says string) {
		t.Helper()
		k, err := Parse(strings.NewReader(text))
		switch {
		case says == "" && err == nil && k.Len() == callers:
		case says == "" || err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "00000000"):
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	f("# none\n\nalice "+someHash+"1 per-minute=6 at-once=2\r\nbob@example.org "+someHash+"2 # no\n", 0, "line 4: want per-minute=N")
	f("# none\n\nalice "+someHash+"1 per-minute=6 at-once=2\r\nbob@example.org "+someHash+"2\n", 2, "")
	f("", 0, "names no caller")
	f("alice", 0, "line 1: want a name")
	f("alice txl_abc", 0, "not the key itself")
	f("alice sha256:12", 0, "64 hex digits")
	f("alice "+strings.Repeat("0", 64), 0, "sha256:")
	f("al/ice "+someHash+"1", 0, "letters, digits")
	f(strings.Repeat("a", 65)+" "+someHash+"1", 0, "letters, digits")
	f("alice "+someHash+"1\nalice "+someHash+"2", 0, "line 2: alice has two lines")
	f("alice "+someHash+"1\nbob "+someHash+"1", 0, "alice and bob have one key")
	f("alice "+someHash+"1 per-minute=0", 0, "N from 1")
	f("alice "+someHash+"1 at-once=x", 0, "N from 1")
	f("alice "+someHash+"1 color=1", 0, "want per-minute=N")
	f("# "+strings.Repeat("x", 600), 0, "line 1 is longer than 512 bytes")
}

// TestKey: a key that was made is found by its line, and no other is.
func TestKey(t *testing.T) {
	key, hash := NewKey()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("alice "+hash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := k.Find([]byte(key)); c == nil || c.Name != "alice" {
		t.Errorf("found %v", c)
	}
	other, _ := NewKey()
	for _, wrong := range []string{"", hash, key[:len(key)-1], other} {
		if c := k.Find([]byte(wrong)); c != nil {
			t.Errorf("%q is a key of %s", wrong, c.Name)
		}
	}
	if _, err := Read(path + "x"); err == nil {
		t.Error("a file that is missing was read")
	}
}

// TestTake: the rate is that of the line, and what was refused or undone does not count.
func TestTake(t *testing.T) {
	c := newCaller("alice", 12, 1) // two at a stroke, then one every 5 s
	now := time.Unix(1_900_000_000, 0)
	f := func(after, wantWait time.Duration, want bool) {
		t.Helper()
		if _, wait, ok := c.Take(now.Add(after), 1); wait.Round(time.Millisecond) != wantWait || ok != want {
			t.Errorf("after %s: %s, %v", after, wait, ok)
		}
	}
	f(0, 0, true)
	f(0, 0, true)
	f(0, 5*time.Second, false)
	f(0, 5*time.Second, false)
	f(3*time.Second, 2*time.Second, false)
	f(5*time.Second, 0, true)
	f(5*time.Second, 5*time.Second, false)

	undo, _, ok := c.Take(now.Add(10*time.Second), 1)
	if !ok {
		t.Fatal("no analysis after 10 s")
	}
	undo()
	undo()
	f(10*time.Second, 0, true)
	f(10*time.Second, 5*time.Second, false)
}

// TestEnter: no more than allowed are inside at a time, and leaving twice counts once.
func TestEnter(t *testing.T) {
	c := newCaller("alice", 1, 2)
	first, ok := c.Enter(1)
	_, also := c.Enter(1)
	if _, third := c.Enter(1); !ok || !also || third {
		t.Errorf("%v %v %v", ok, also, third)
	}
	first()
	first()
	if _, ok := c.Enter(1); !ok {
		t.Error("the place was not given back")
	}
	if _, ok := c.Enter(1); ok {
		t.Error("a place was given back twice")
	}
	c = newCaller("bob", 1, 3)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				if leave, ok := c.Enter(1); ok {
					leave()
				}
			}
		})
	}
	wg.Wait()
	if c.running != 0 {
		t.Errorf("%d run", c.running)
	}
}

// TestPartOfCaller: each of several servers allows its part of what a key may, and all of it again when it is
// the only one.
func TestPartOfCaller(t *testing.T) {
	for _, c := range []struct{ perMinute, atOnce, servers, wantAtOnce, wantBurst int }{
		{60, 4, 1, 4, 10},
		{60, 4, 2, 2, 5},
		{60, 4, 3, 2, 3},
		{60, 4, 9, 1, 1},
		{60, 1, 3, 1, 3},
		{60, 4, 0, 4, 10},
	} {
		who, now := newCaller("a", c.perMinute, c.atOnce), time.Now()
		who.Take(now, 7) // as many as there were a moment ago
		now = now.Add(time.Hour)
		atOnce, burst := 0, 0
		for _, ok := who.Enter(c.servers); ok; _, ok = who.Enter(c.servers) {
			atOnce++
		}
		var wait time.Duration
		for ok := true; ok; {
			if _, wait, ok = who.Take(now, c.servers); ok {
				burst++
			}
		}
		want := time.Duration(max(1, c.servers)) * time.Minute / time.Duration(c.perMinute)
		if atOnce != c.wantAtOnce || burst > c.wantBurst || burst < 1 || wait.Round(time.Millisecond) != want {
			t.Errorf("%+v: %d at once, %d at a stroke, the next after %v, want %v", c, atOnce, burst, wait, want)
		}
	}
}
