// Package callers knows who may use a server that charges nothing, and how much of it: a
// file has a line for each caller, with the hash of its key.
//
//	# name  hash of the key                    analyses per minute  at a time
//	alice   sha256:9f86d081884c7d65…           per-minute=60        at-once=4
//
// A key is 32 random bytes, so its plain SHA-256 tells nothing of it: no slow hash is needed
// as for passwords.
package callers

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"txlens/actors/slots"
	"txlens/engine/api"

	"golang.org/x/time/rate"
)

// Limits of a caller whose line names none.
const (
	DefaultPerMinute = 60
	DefaultAtOnce    = 4
)

// Bounds of the file.
const (
	maxCallers = 10_000
	maxLine    = 512
	maxName    = 64
	maxRate    = 1_000_000
)

// prefixes of a key and of its hash in the file.
const (
	keyPrefix  = "txl_"
	hashPrefix = "sha256:"
)

// Caller is one who may use the server. It is safe for concurrent use.
type Caller struct {
	Name string

	limiter   *rate.Limiter
	perMinute int
	atOnce    int

	mu      sync.Mutex
	running int
}

// Keys finds callers by their keys. It is safe for concurrent use.
type Keys struct {
	path   string // of the file; empty: there is none
	byHash atomic.Pointer[table]
}

// table holds callers by the hash of their key.
type table map[[sha256.Size]byte]*Caller

// Read reads a file of callers. Its errors name file and line, and no hash.
func Read(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k.path = path
	return k, nil
}

// Reload reads the file again. A caller whose line did not change keeps what it has used; on an
// error all stay as they were.
func (k *Keys) Reload() error {
	fresh, err := Read(k.path)
	if err != nil {
		return err
	}
	now := *fresh.byHash.Load()
	for hash, c := range *k.byHash.Load() {
		if same := now[hash]; same != nil && same.equal(c) {
			now[hash] = c
		}
	}
	k.byHash.Store(&now)
	return nil
}

func (c *Caller) equal(d *Caller) bool {
	return c.Name == d.Name && c.atOnce == d.atOnce && c.perMinute == d.perMinute
}

// Parse reads callers from a text.
func Parse(r io.Reader) (*Keys, error) {
	all := table{}
	names := map[string]bool{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	line := 0
	for sc.Scan() {
		line++
		words := strings.Fields(strings.TrimPrefix(sc.Text(), api.ByteOrderMark))
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		hash, c, err := parseCaller(words)
		switch {
		case err != nil:
		case names[c.Name]:
			err = fmt.Errorf("%s has two lines", c.Name)
		case all[hash] != nil:
			err = fmt.Errorf("%s and %s have one key", all[hash].Name, c.Name)
		case len(names) == maxCallers:
			err = fmt.Errorf("there are more than %d callers", maxCallers)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		names[c.Name], all[hash] = true, c
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d bytes", line+1, maxLine)
	}
	if sc.Err() != nil {
		return nil, sc.Err()
	}
	if len(names) == 0 {
		return nil, errors.New("it names no caller; make a line with txlens key NAME")
	}
	k := new(Keys)
	k.byHash.Store(&all)
	return k, nil
}

func parseCaller(words []string) (hash [sha256.Size]byte, c *Caller, err error) {
	if len(words) < 2 {
		return hash, nil, errors.New("want a name and sha256:HASH")
	}
	if err := CheckName(words[0]); err != nil {
		return hash, nil, err
	}
	digits, ok := strings.CutPrefix(words[1], hashPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(hash) {
		return hash, nil, errors.New("the second word must be sha256: and 64 hex digits, not the key itself")
	}
	copy(hash[:], raw)
	perMinute, atOnce := DefaultPerMinute, DefaultAtOnce
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		to, known := map[string]*int{"per-minute": &perMinute, "at-once": &atOnce}[name]
		n, err := strconv.Atoi(value)
		if !known || err != nil || n < 1 || n > maxRate {
			return hash, nil, errors.New("want per-minute=N or at-once=N, with N from 1 to 1000000")
		}
		*to = n
	}
	return hash, newCaller(words[0], perMinute, atOnce), nil
}

func newCaller(name string, perMinute, atOnce int) *Caller {
	return &Caller{Name: name, limiter: rate.NewLimiter(limitsOf(perMinute, 1)), perMinute: perMinute, atOnce: atOnce}
}

// limitsOf allows a sixth of a minute's analyses at a stroke, and one at least. Each of so many servers allows its part.
func limitsOf(perMinute, servers int) (rate.Limit, int) {
	return rate.Limit(float64(perMinute) / 60 / float64(max(1, servers))), max(1, perMinute/6/max(1, servers))
}

// CheckName says what is wrong with the name of a caller.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-") != "" {
		return fmt.Errorf("a name has 1 to %d letters, digits and the characters . _ @ -", maxName)
	}
	return nil
}

// NewKey makes a key and the word that stands for it in the file.
func NewKey() (key, hash string) {
	var raw [32]byte
	rand.Read(raw[:]) // never fails: it ends the process first
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	sum := sha256.Sum256([]byte(key))
	return key, hashPrefix + hex.EncodeToString(sum[:])
}

// Find returns the caller of a key; nil: there is none.
func (k *Keys) Find(key []byte) *Caller { return (*k.byHash.Load())[sha256.Sum256(key)] }

// Len is the number of callers.
func (k *Keys) Len() int { return len(*k.byHash.Load()) }

// Take counts one analysis, and undo takes that back. If there were too many it is not ok,
// and after wait there is room for another. Each of so many servers allows its part.
func (c *Caller) Take(now time.Time, servers int) (undo func(), wait time.Duration, ok bool) {
	c.divide(now, servers)
	r := c.limiter.ReserveN(now, 1)
	undo = sync.OnceFunc(func() { r.CancelAt(now) })
	if wait = r.DelayFrom(now); wait > 0 {
		undo()
		return nil, wait, false
	}
	return undo, 0, true
}

// divide sets the rate to the part of one of so many servers.
func (c *Caller) divide(now time.Time, servers int) {
	limit, burst := limitsOf(c.perMinute, servers)
	if c.limiter.Limit() != limit {
		c.limiter.SetLimitAt(now, limit)
		c.limiter.SetBurstAt(now, burst)
	}
}

// Enter takes a place among those that run at a time; leave gives it back, once. Each of so many servers
// has its part of the places, and at least one.
func (c *Caller) Enter(servers int) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running >= slots.PartOf(c.atOnce, servers) {
		return nil, false
	}
	c.running++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
	}), true
}
