package replay

import (
	"context"
	"fmt"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc"
)

const (
	defaultMaxReads = 20_000
	readsPerAccount = 3 // balance, nonce, code

	// ringLength is HISTORY_BUFFER_LENGTH of EIP-4788 and HISTORY_SERVE_WINDOW of EIP-2935.
	ringLength = 8191
)

// source caches the parent state of one run: each value is requested once. It is safe for
// concurrent use.
type source struct {
	state   State
	max     int
	overlay map[slotKey]common.Hash
	early   bool   // before EIP-158
	parent  uint64 // number of the parent block
	hash    common.Hash

	mu       sync.Mutex
	reads    int
	limited  bool
	accounts map[common.Address]*pendingValue[*account]
	slots    map[slotKey]*pendingValue[common.Hash]
	hashes   map[uint64]*pendingValue[common.Hash]
}

type slotKey struct {
	addr common.Address
	slot common.Hash
}

// account is nil if the chain has no such account.
type account struct {
	types.StateAccount
	code []byte
}

// pendingValue is a value that was requested. done is closed when it has arrived.
type pendingValue[T any] struct {
	done chan struct{}
	val  T
	err  error
}

func newSource(st State, env *environment, opt Options) *source {
	blk := env.block
	s := &source{
		state:    st,
		max:      opt.MaxReads,
		overlay:  systemSlots(blk),
		early:    !env.rules().IsEIP158,
		hash:     blk.ParentHash,
		accounts: make(map[common.Address]*pendingValue[*account]),
		slots:    make(map[slotKey]*pendingValue[common.Hash]),
		hashes:   make(map[uint64]*pendingValue[common.Hash]),
	}
	if s.max <= 0 {
		s.max = defaultMaxReads
	}
	if blk.Number > 0 {
		s.parent = blk.Number - 1
	}
	return s
}

// systemSlots are the slots that the system calls of EIP-4788 and EIP-2935 write
// before the first transaction. Laid over the parent state they have the same
// effect as the calls, and cost no read for the many transactions that never
// look there. On a chain or block without these contracts nobody can read them.
func systemSlots(blk *ethrpc.Block) map[slotKey]common.Hash {
	m := make(map[slotKey]common.Hash, 3)
	slot := func(n uint64) common.Hash { return common.BigToHash(new(big.Int).SetUint64(n)) }
	if blk.ParentBeaconRoot != nil {
		at := blk.Timestamp % ringLength
		m[slotKey{params.BeaconRootsAddress, slot(at)}] = slot(blk.Timestamp)
		m[slotKey{params.BeaconRootsAddress, slot(at + ringLength)}] = *blk.ParentBeaconRoot
	}
	if blk.Number > 0 {
		m[slotKey{params.HistoryStorageAddress, slot((blk.Number - 1) % ringLength)}] = blk.ParentHash
	}
	return m
}

// load returns a value from m, or requests and keeps it. Concurrent callers wait for one
// request. A failure is not kept, so that a failed speculative request does not affect the
// real run.
func load[K comparable, T any](s *source, m map[K]*pendingValue[T], key K, cost int, fetch func() (T, error)) (T, error) {
	s.mu.Lock()
	if c := m[key]; c != nil {
		s.mu.Unlock()
		<-c.done
		return c.val, c.err
	}
	if s.reads+cost > s.max {
		s.limited = true
		s.mu.Unlock()
		var zero T
		return zero, fmt.Errorf("%w: bound of %d reads", ErrReadLimit, s.max)
	}
	s.reads += cost
	c := &pendingValue[T]{done: make(chan struct{})}
	m[key] = c
	s.mu.Unlock()

	c.err = guard(func() (err error) { c.val, err = fetch(); return err })
	if c.err != nil {
		s.mu.Lock()
		delete(m, key)
		s.mu.Unlock()
	}
	close(c.done)
	return c.val, c.err
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

func (s *source) overLimit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limited
}

func (s *source) account(ctx context.Context, addr common.Address) (*account, error) {
	return load(s, s.accounts, addr, readsPerAccount, func() (*account, error) { return s.fetchAccount(ctx, addr) })
}

// none marks the addresses of n stubs as empty, so that they are not requested.
func (s *source) none(n int) {
	for i := range n {
		c := &pendingValue[*account]{done: make(chan struct{})}
		close(c.done)
		s.accounts[stubAddress(i)] = c
	}
}

// fetchAccount requests balance, nonce and code concurrently, because the latency
// dominates.
func (s *source) fetchAccount(ctx context.Context, addr common.Address) (*account, error) {
	var (
		balance *big.Int
		nonce   uint64
		code    []byte
		errs    [readsPerAccount]error
		wg      sync.WaitGroup
	)
	ask := func(i int, what string, f func() error) {
		wg.Go(func() {
			if err := guard(f); err != nil {
				errs[i] = fmt.Errorf("read %s of %s: %w", what, addr, err)
			}
		})
	}
	ask(0, "balance", func() (err error) { balance, err = s.state.Balance(ctx, addr); return err })
	ask(1, "nonce", func() (err error) { nonce, err = s.state.Nonce(ctx, addr); return err })
	ask(2, "code", func() (err error) { code, err = s.state.Code(ctx, addr); return err })
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return s.newAccount(addr, balance, nonce, code)
}

// newAccount is nil for an account without balance, nonce and code. Before EIP-158
// such an account could exist, and calling one that did not cost 25,000 gas more;
// no plain query tells. The precompiles are taken to exist, since the first call
// that anybody ever made to one created it. Of others, what depends on it shows in
// the gas, and Verify finds it.
func (s *source) newAccount(addr common.Address, balance *big.Int, nonce uint64, code []byte) (*account, error) {
	if balance == nil {
		return nil, fmt.Errorf("read balance of %s: no answer", addr)
	}
	_, precompile := vm.PrecompiledContractsHomestead[addr]
	if balance.Sign() == 0 && nonce == 0 && len(code) == 0 && !(s.early && precompile) {
		return nil, nil
	}
	amount, overflow := uint256.FromBig(balance)
	if overflow || balance.Sign() < 0 {
		return nil, fmt.Errorf("read balance of %s: not a 256-bit number", addr)
	}
	a := &account{code: code}
	a.Nonce, a.Balance, a.Root = nonce, amount, types.EmptyRootHash
	a.CodeHash = crypto.Keccak256(code)
	return a, nil
}

func (s *source) storage(ctx context.Context, addr common.Address, slot common.Hash) (common.Hash, error) {
	key := slotKey{addr, slot}
	if v, ok := s.overlay[key]; ok {
		return v, nil
	}
	return load(s, s.slots, key, 1, func() (common.Hash, error) {
		v, err := s.state.Storage(ctx, addr, slot)
		if err != nil {
			return v, fmt.Errorf("read storage of %s: %w", addr, err)
		}
		return v, nil
	})
}

func (s *source) blockHash(ctx context.Context, number uint64) (common.Hash, error) {
	if number == s.parent && s.hash != (common.Hash{}) {
		return s.hash, nil
	}
	hasher, ok := s.state.(BlockHasher)
	if !ok {
		return common.Hash{}, fmt.Errorf("read hash of block %d: no source for it", number)
	}
	return load(s, s.hashes, number, 1, func() (common.Hash, error) {
		h, err := hasher.BlockHash(ctx, number)
		if err != nil {
			return h, fmt.Errorf("read hash of block %d: %w", number, err)
		}
		return h, nil
	})
}
