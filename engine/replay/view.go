package replay

import (
	"context"
	"errors"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/triedb"
)

var (
	_ state.Reader   = (*view)(nil)
	_ state.Database = (*view)(nil)
)

// errNoTrie is returned by methods that need tries. A run finalises transactions and never
// computes a state root, so nothing calls them.
var errNoTrie = errors.New("state is read over queries and has no trie")

// view connects one StateDB to the source. It keeps the first error and calls stop, because
// go-ethereum reads zero after an error and continues.
type view struct {
	ctx context.Context
	src *source

	mu   sync.Mutex
	err  error
	stop func() // may be nil
}

// newState creates a StateDB on the parent state.
func newState(ctx context.Context, src *source) (*state.StateDB, *view, error) {
	v := &view{ctx: ctx, src: src}
	db, err := state.NewWithReader(types.EmptyRootHash, v, v)
	return db, v, err
}

// fail keeps the first error and ends the run.
func (v *view) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return
	}
	v.err = err
	if v.stop != nil {
		v.stop()
	}
}

// fault returns the first error, or the error of the context.
func (v *view) fault() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return v.err
	}
	return v.ctx.Err()
}

// onFault sets the function that stops the EVM after an error.
func (v *view) onFault(stop func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stop = stop
}

func (v *view) account(addr common.Address) (*account, error) {
	if err := v.fault(); err != nil {
		return nil, err
	}
	a, err := v.src.account(v.ctx, addr)
	if err != nil {
		v.fail(err)
	}
	return a, err
}

// Account is nil where the chain has no such account.
func (v *view) Account(addr common.Address) (*types.StateAccount, error) {
	a, err := v.account(addr)
	if err != nil || a == nil {
		return nil, err
	}
	return a.StateAccount.Copy(), nil // the StateDB changes what it is given
}

// Storage reads one slot.
func (v *view) Storage(addr common.Address, slot common.Hash) (common.Hash, error) {
	if err := v.fault(); err != nil {
		return common.Hash{}, err
	}
	h, err := v.src.storage(v.ctx, addr, slot)
	if err != nil {
		v.fail(err)
	}
	return h, err
}

// Has reports whether addr has the code of that hash.
func (v *view) Has(addr common.Address, codeHash common.Hash) bool {
	return v.Code(addr, codeHash) != nil
}

// Code is the code of addr, which came with its account.
func (v *view) Code(addr common.Address, codeHash common.Hash) []byte {
	a, err := v.account(addr)
	if err != nil || a == nil || common.BytesToHash(a.CodeHash) != codeHash {
		return nil
	}
	return a.code
}

// CodeSize is the length of Code.
func (v *view) CodeSize(addr common.Address, codeHash common.Hash) int {
	return len(v.Code(addr, codeHash))
}

// blockHash serves BLOCKHASH.
func (v *view) blockHash(number uint64) common.Hash {
	if v.fault() != nil {
		return common.Hash{}
	}
	h, err := v.src.blockHash(v.ctx, number)
	if err != nil {
		v.fail(err)
	}
	return h
}

// The rest of state.Database: there is no trie to open.

func (v *view) Type() state.DatabaseType                     { return state.TypeMPT }
func (v *view) Reader(common.Hash) (state.Reader, error)     { return v, nil }
func (v *view) Iteratee(common.Hash) (state.Iteratee, error) { return nil, errNoTrie }
func (v *view) OpenTrie(common.Hash) (state.Trie, error)     { return nil, errNoTrie }
func (v *view) TrieDB() *triedb.Database                     { return nil }
func (v *view) Commit(*state.StateUpdate) error              { return errNoTrie }
func (v *view) OpenStorageTrie(common.Hash, common.Address, common.Hash, state.Trie) (state.Trie, error) {
	return nil, errNoTrie
}
