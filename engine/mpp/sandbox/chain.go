package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Chain ids of the real chains.
const (
	Mainnet  = 4217
	Moderato = 42431 // the testnet; its id is the sandbox's default
)

// ErrMainnet: a sandbox must not answer under mainnet's chain id.
var ErrMainnet = errors.New("a sandbox does not pose as mainnet (chain id 4217)")

// Options of a Chain. The zero value is a testnet that makes a block per
// transaction. A Clock that stands still needs a Sleep that moves it: who waits for a
// block would wait for ever.
type Options struct {
	ChainID   uint64                                     // 0: Moderato; Mainnet is refused
	BlockTime time.Duration                              // 0: each transaction is mined when it arrives, and the head is never older than 10 s
	BaseFee   uint64                                     // attodollars per gas; 0: 20 gwei
	FreeGas   bool                                       // base fee 0, whatever BaseFee says
	Tokens    []Token                                    // besides pathUSD and OUSD
	Fund      []Funding                                  // balances at the start
	Clock     func() time.Time                           // default time.Now
	Sleep     func(context.Context, time.Duration) error // waits for blocks and injected delays; default a timer
	Log       *slog.Logger                               // default none
}

// Token is a TIP-20 token. Its address must have the TIP-20 prefix,
// 0x20c0 and ten zero bytes.
type Token struct {
	Address      common.Address
	Name, Symbol string
	Decimals     uint8 // 0: 6, which all known ones have
}

// Funding gives an account tokens, in base units.
type Funding struct {
	Account common.Address
	Token   common.Address // zero: pathUSD
	Amount  uint256.Int
}

// Chain is the sandbox. Safe for concurrent use.
type Chain struct {
	faults
	rules
	opt Options

	mu     sync.Mutex
	state  history
	blocks []*block // by number
	pool   []*pending
	mined  map[common.Hash]*receipt
	ahead  time.Duration // how far the clock was moved
	branch uint64        // counts reorganisations, so that hashes differ
}

// pending is a transaction that waits for a block.
type pending struct {
	tx       *Transaction
	sabotage bool // it will revert
}

// New makes a chain whose genesis block holds the funds.
func New(opt Options) (*Chain, error) {
	if opt.ChainID == Mainnet {
		return nil, ErrMainnet
	}
	if opt.ChainID == 0 {
		opt.ChainID = Moderato
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Sleep == nil {
		opt.Sleep = sleep
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.BaseFee == 0 {
		opt.BaseFee = 20_000_000_000
	}
	if opt.FreeGas {
		opt.BaseFee = 0
	}
	if opt.BlockTime < 0 {
		return nil, errors.New("block time is negative")
	}
	c := &Chain{opt: opt, state: history{map[cell][]version{}}, mined: map[common.Hash]*receipt{}}
	c.rules = rules{chainID: opt.ChainID, baseFee: *uint256.NewInt(opt.BaseFee), tokens: map[common.Address]*token{
		PathUSD: {name: "pathUSD", symbol: "pathUSD", decimals: tokenDecimals},
		OUSD:    {name: "OUSD", symbol: "OUSD", decimals: tokenDecimals},
	}}
	for _, t := range opt.Tokens {
		if !isToken(t.Address) {
			return nil, fmt.Errorf("token %s has no TIP-20 address", t.Address)
		}
		c.tokens[t.Address] = &token{name: t.Name, symbol: t.Symbol, decimals: cmp.Or(t.Decimals, tokenDecimals)}
	}
	genesis := c.machine(draftOver(c.state.at(0)), 0)
	for _, f := range opt.Fund {
		if err := c.fund(genesis, f); err != nil {
			return nil, err
		}
	}
	c.append(c.now(), genesis.draft, nil)
	opt.Log.Warn(Warning, "chain", opt.ChainID)
	return c, nil
}

// Warning is what the sandbox says of itself, in its log and to everyone who asks.
const Warning = "settlement sandbox: not a real chain, its tokens are worth nothing"

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ChainID is the id that transactions and vouchers must name.
func (c *Chain) ChainID() uint64 { return c.chainID }

func (c *Chain) fund(m *machine, f Funding) error {
	if f.Token == (common.Address{}) {
		f.Token = PathUSD
	}
	if c.tokens[f.Token] == nil {
		return fmt.Errorf("fund %s: %s is no token of this chain", f.Account, f.Token)
	}
	if err := m.mint(f.Token, f.Account, f.Amount); err != nil {
		return fmt.Errorf("fund %s: %w", f.Account, err)
	}
	return nil
}

// now is the chain's time: the clock, moved by IncreaseTime, never before the head.
func (c *Chain) now() time.Time {
	now := c.opt.Clock().Add(c.ahead)
	if n := len(c.blocks); n > 0 && now.Before(c.blocks[n-1].time) {
		return c.blocks[n-1].time
	}
	return now
}

func (c *Chain) head() *block { return c.blocks[len(c.blocks)-1] }

// latest is the state at the head.
func (c *Chain) latest() reader { return c.state.at(c.head().number) }

// idleBlock is the age of the head at which a chain without a block time makes an
// empty block. The time of a real chain goes on, and clients read it from the head.
const idleBlock = 10 * time.Second

// catchUp makes the blocks that were due. Transactions enter the first of them;
// of the empty ones after it only the last is made, so that a chain which nobody
// asked for an hour costs one block.
func (c *Chain) catchUp() {
	step := c.opt.BlockTime
	if step == 0 {
		if now := c.now(); now.Sub(c.head().time) >= idleBlock {
			c.mine(now)
		}
		return
	}
	now := c.now()
	if len(c.pool) > 0 && now.Sub(c.head().time) >= step {
		c.mine(c.head().time.Add(step))
	}
	if due := now.Sub(c.head().time) / step; due > 0 {
		c.mine(c.head().time.Add(due * step))
	}
}

// mine makes a block of what waits. A transaction that has become invalid since it
// arrived is dropped without a trace, as on a real chain.
func (c *Chain) mine(at time.Time) {
	d := draftOver(c.latest())
	var done []*outcome
	for _, p := range c.pool {
		if c.check(d, p.tx, unixSeconds(at), 0) != nil {
			continue
		}
		out, err := c.run(d, p.tx, unixSeconds(at), p.sabotage)
		if err == nil {
			done = append(done, out)
		}
	}
	c.pool = nil
	c.append(at, d, done)
}

func unixSeconds(t time.Time) uint64 { return uint64(max(t.Unix(), 0)) }

// submit puts a transaction into the pool, and into a block when there is no block
// time to wait for.
func (c *Chain) submit(t *Transaction, sabotage bool) error {
	if c.mined[t.Hash] != nil {
		return errors.New("already known")
	}
	next := uint64(0)
	for _, p := range c.pool {
		switch {
		case p.tx.Hash == t.Hash || t.expiring() && p.tx.ExpiringNonceHash == t.ExpiringNonceHash:
			return errors.New("already known")
		case p.tx.Sender == t.Sender && p.tx.NonceKey == t.NonceKey:
			next++
		}
	}
	now := unixSeconds(c.now())
	if err := c.check(c.latest(), t, now, next); err != nil {
		return err
	}
	if t.ValidBefore != 0 && t.ValidBefore <= now+poolMargin {
		return errExpiresSoon
	}
	c.pool = append(c.pool, &pending{t, sabotage})
	if c.opt.BlockTime == 0 {
		c.mine(c.now())
	}
	return nil
}

// Mint gives an account tokens out of nothing, in a block of its own.
func (c *Chain) Mint(token, to common.Address, amount *uint256.Int) error {
	return c.decree(func(m *machine) error { return c.fund(m, Funding{to, token, *amount}) })
}

// SetPolicy forbids an account to send or to receive a token (TIP-403), or allows it
// again, in a block of its own.
func (c *Chain) SetPolicy(token, account common.Address, maySend, mayReceive bool) {
	var forbidden uint64
	if !maySend {
		forbidden |= forbidSending
	}
	if !mayReceive {
		forbidden |= forbidReceiving
	}
	c.decree(func(m *machine) error {
		m.set(cell{policySpace, token, addressKey(account)}, *uint256.NewInt(forbidden))
		return nil
	})
}

// SetReceivePolicy has an account reject what comes from a sender, or from everyone if the
// sender is zero, or accept it again (TIP-1028), in a block of its own. Only the reserve looks
// at it, also as a sender of refunds.
func (c *Chain) SetReceivePolicy(account, sender common.Address, accept bool) {
	var rejected uint256.Int
	if !accept {
		rejected.SetOne()
	}
	c.decree(func(m *machine) error {
		m.set(cell{receiveSpace, account, addressKey(sender)}, rejected)
		return nil
	})
}

// SetVirtualMaster says which account receives what is sent to the virtual addresses
// (TIP-1022) that begin with id.
func (c *Chain) SetVirtualMaster(id [4]byte, master common.Address) {
	c.decree(func(m *machine) error {
		m.set(cell{space: masterSpace, key: common.BytesToHash(id[:])}, addressWord(master))
		return nil
	})
}

// decree changes the state from outside.
func (c *Chain) decree(change func(*machine) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	now := c.now()
	m := c.machine(draftOver(c.latest()), unixSeconds(now))
	if err := change(m); err != nil {
		return err
	}
	c.append(now, m.draft, nil)
	return nil
}

// IncreaseTime moves the chain's clock forward; blocks that become due are made.
func (c *Chain) IncreaseTime(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(d, 0)
	c.catchUp()
}

// Mine makes one block now, with what waits in the pool.
func (c *Chain) Mine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	c.mine(c.now())
}

// maxReorg bounds a reorganisation; the genesis block always stays.
const maxReorg = 64

// Reorg takes the last blocks back and makes another one in the place of the first
// of them. Their transactions wait again for a block, or are lost when drop is set. A
// transaction that waits again can have expired by then, as on a real chain.
func (c *Chain) Reorg(depth int, drop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if depth < 1 || depth > maxReorg || depth >= len(c.blocks) {
		return fmt.Errorf("reorganise %d of %d blocks: not possible", depth, len(c.blocks)-1)
	}
	keep := len(c.blocks) - depth
	gone := slices.Clone(c.blocks[keep:])
	c.blocks = c.blocks[:keep]
	c.state.forget(c.head().number)
	c.branch++
	var back []*pending
	for _, b := range gone {
		for _, r := range b.receipts {
			delete(c.mined, r.tx.Hash)
			back = append(back, &pending{tx: r.tx})
		}
	}
	if !drop {
		c.pool = append(back, c.pool...)
	}
	c.append(gone[0].time, draftOver(c.latest()), nil)
	return nil
}

// accounts of the tokens, in order, for answers that must not depend on maps.
func (c *Chain) tokenAddresses() []common.Address {
	return slices.SortedFunc(maps.Keys(c.tokens), common.Address.Cmp)
}
