package upstream

import (
	"errors"
	"sync"
	"time"
)

// entry is the recorded outcome of one logical call: raw or err is set.
type entry struct {
	tool string
	seq  int64         // position among the metered calls; 0: unknown, or not metered
	took time.Duration // whole milliseconds
	nano int64
	raw  *packed
	err  *Error
}

// Recorder collects the outcome of every logical call of one analysis. A nil Recorder
// records nothing. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	meta    Meta
	entries map[string]*entry
}

// NewRecorder makes an empty Recorder.
func NewRecorder() *Recorder { return &Recorder{entries: map[string]*entry{}} }

// SetMeta describes the analysis. The session sets the flags SourcesOff and RPCOnly as
// well.
func (r *Recorder) SetMeta(m Meta) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m.SourcesOff = m.SourcesOff || r.meta.SourcesOff
	m.RPCOnly = m.RPCOnly || r.meta.RPCOnly
	r.meta = m
}

func (r *Recorder) note(sourcesOff, rpcOnly bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta.SourcesOff = r.meta.SourcesOff || sourcesOff
	r.meta.RPCOnly = r.meta.RPCOnly || rpcOnly
}

// put records an outcome unless its key has one.
func (r *Recorder) put(key string, e entry) {
	if r == nil || (e.err == nil && e.raw == nil) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; !ok {
		r.entries[key] = &e
	}
}

// Len returns the number of calls recorded so far.
func (r *Recorder) Len() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// Bundle returns what has been recorded so far.
func (r *Recorder) Bundle() *Bundle {
	b := &Bundle{entries: map[string]*entry{}}
	if r == nil {
		return b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b.Meta = r.meta
	for k, e := range r.entries {
		b.entries[k] = e
	}
	return b
}

// WriteFile writes the bundle to path atomically.
func (r *Recorder) WriteFile(path string) error { return r.Bundle().WriteFile(path) }

// CreateFile is Bundle().CreateFile.
func (r *Recorder) CreateFile(path string) error { return r.Bundle().CreateFile(path) }

// errorRecord is an Error as it is stored.
type errorRecord struct {
	Op        string `json:"op"`
	Source    string `json:"source,omitzero"`
	Chain     string `json:"chain,omitzero"`
	Hint      string `json:"hint,omitzero"`
	Retryable bool   `json:"retryable,omitzero"`
	Kind      Kind   `json:"kind"`
	Data      []byte `json:"data,omitzero"`
	Text      string `json:"text"`
}

func (e *Error) record() *errorRecord {
	if e == nil {
		return nil
	}
	return &errorRecord{e.Op, e.Source, e.Chain, e.Hint, e.Retryable, e.Kind, e.Data, e.Err.Error()}
}

func (r *errorRecord) restore() *Error {
	if r == nil {
		return nil
	}
	return &Error{
		Op:        r.Op,
		Source:    r.Source,
		Chain:     r.Chain,
		Hint:      r.Hint,
		Retryable: r.Retryable,
		Kind:      r.Kind,
		Data:      r.Data,
		Err:       errors.New(r.Text),
	}
}
