package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/engine/chain"
)

// KeptKey identifies requests that have the same answer: a hash of all that decides it.
type KeptKey [sha256.Size]byte

// Kept says which run has the answer to a request, and where its transaction was then.
type Kept struct {
	Key KeptKey
	Run string // id of a run record; the entry ends with the record
	Mined
	CheckedAt int64 // Unix seconds: a time before the transaction was last seen in that block
	MadeAt    int64 // Unix seconds: when the analysis ended
}

// Mined is the place of a transaction in its chain.
type Mined struct {
	ChainID uint64
	Block   [32]byte // hash
	Time    int64    // of the block, Unix seconds
	Data    string   // digest of the user's data that the analysis used; it is part of the key and not stored
}

// KeptStore finds run records by request. It is safe for concurrent use.
type KeptStore interface {
	// PutKept creates or replaces entries. Those whose run is not in the store are left out.
	PutKept(rows ...Kept) error
	// Kept returns one entry, or api.ErrNoRun.
	Kept(key KeptKey) (Kept, error)
}

// KeeperOptions configure a Keeper.
type KeeperOptions struct {
	Store KeptStore
	Runs  *Runs
	// Rules names the rules, and all settings that change what they say: a result of other rules
	// is not found.
	Rules string
	// Evidence names the settings that change what an analysis reads, but not the rules.
	Evidence string
	// Data returns the digest of the user's data as it is now; nil: there is none.
	Data func() string
	// Model returns the name of the model that answers a request; nil: there is none.
	Model func(api.Request) string
	// Block returns the hash of the block that has a transaction now. It is asked while the block
	// may still be replaced.
	Block func(ctx context.Context, chainID uint64, txHash string) ([32]byte, error)
	Log   *slog.Logger

	Now func() time.Time // default time.Now
}

// Keeper finds the results of earlier runs for equal requests. It is safe for concurrent use.
type Keeper struct{ o KeeperOptions }

// NewKeeper returns a Keeper.
func NewKeeper(o KeeperOptions) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keeper{o}
}

// Answer is the answer of an earlier run.
type Answer struct {
	Kept
	Age   time.Duration
	Frame jsontext.Value // the last frame of the run: a result or a report
}

// Key is the same for requests whose results are equal. View and report are forms of one result.
func (k *Keeper) Key(req api.Request) KeptKey { return k.key(req, "", k.data()) }

func (k *Keeper) data() string {
	if k.o.Data == nil {
		return ""
	}
	return k.o.Data()
}

// key is the key of a result on the chain that the request names, or of its report, made with
// data of a user.
func (k *Keeper) key(req api.Request, form api.EventType, data string) KeptKey {
	model := ""
	if k.o.Model != nil {
		model = k.o.Model(req)
	}
	parts := []string{k.o.Rules, fmt.Sprint(req.ChainID), strings.ToLower(req.TxHash), req.Context, model, string(form)}
	if data != "" {
		parts = append(parts, data)
	}
	doc, _ := json.Marshal(parts, jsontext.AllowInvalidUTF8(true)) // strings always have an encoding
	return sha256.Sum256(doc)
}

// checkTimeout bounds the question whether a block is still in its chain.
const checkTimeout = 10 * time.Second

// Find returns the result of an earlier equal request, or its report. The error is api.ErrNoRun
// if there is none, if its block was replaced, or if that could not be found out.
func (k *Keeper) Find(ctx context.Context, req api.Request, form api.EventType) (Answer, error) {
	data := k.data()
	row, err := k.o.Store.Kept(k.key(req, form, data))
	row.Data = data
	if err == nil {
		err = k.check(ctx, &row, req.TxHash)
	}
	var frame jsontext.Value
	if err == nil {
		frame, err = k.o.Runs.last(row.Run)
	}
	if err != nil {
		return Answer{}, k.unused(row, err)
	}
	age := k.o.Now().Sub(time.Unix(row.MadeAt, 0))
	return Answer{Kept: row, Age: max(0, age), Frame: frame}, nil
}

// unused logs why an entry is not used, unless there is none.
func (k *Keeper) unused(row Kept, err error) error {
	if !errors.Is(err, api.ErrNoRun) {
		k.o.Log.Warn("a kept result is not used", "run", row.Run, "error", err)
	}
	return api.ErrNoRun
}

// check asks whether the transaction is still in its block, unless it was found there when the
// block could no longer be replaced.
func (k *Keeper) check(ctx context.Context, row *Kept, txHash string) error {
	if row.final() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	row.CheckedAt = k.o.Now().Unix() // before the question: the answer is not older
	now, err := k.o.Block(ctx, row.ChainID, txHash)
	switch {
	case err != nil:
		return err
	case now != row.Block:
		return api.ErrNoRun
	case row.final():
		if err := k.o.Store.PutKept(*row); err != nil {
			k.o.Log.Warn("store that a block is final", "run", row.Run, "error", err)
		}
	}
	return nil
}

// final reports whether the block was final when the transaction was seen in it.
func (r *Kept) final() bool {
	c, ok := chain.ByID(r.ChainID)
	return ok && time.Duration(r.CheckedAt-r.Time)*time.Second >= c.FinalAfter()
}

// Keep makes the record of a run the answer to later requests that are equal to req. Call it when
// the record is stored. The key of row is set here.
func (k *Keeper) Keep(req api.Request, form api.EventType, row Kept) {
	found := req
	found.ChainID = row.ChainID
	row.Key = k.key(found, form, row.Data)
	rows := []Kept{row}
	if req.ChainID == 0 {
		row.Key = k.key(req, form, row.Data)
		rows = append(rows, row)
	}
	if err := k.o.Store.PutKept(rows...); err != nil {
		k.o.Log.Error("keep a result", "run", row.Run, "error", err)
	}
}
