package label

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"txlens/engine/chain"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// Caller makes calls that change nothing, at the block of interest. An error is
// any failure, a revert too.
type Caller interface {
	// CallContract calls a contract without value and gives its return data.
	CallContract(ctx context.Context, to common.Address, data []byte) ([]byte, error)
}

const (
	// batchTokens is how many tokens one Multicall3 call asks; three calls each.
	batchTokens = 60
	// maxTokens bounds one Fetch: a mass airdrop touches thousands.
	maxTokens = 1200
	// maxPlain bounds the tokens asked call by call, where Multicall3 is missing
	// or a token spoils every batch it is in.
	maxPlain = 64
	// maxFailures in a row mean that nobody is listening: each may have been a
	// time-out with retries.
	maxFailures = 3
)

// Selectors of ERC-20's metadata functions, in the order of the answers.
var metadata = [3][]byte{
	evmsig.SelSymbol[:], evmsig.SelName[:], evmsig.SelDecimals[:],
}

// Fetch asks contracts for symbol, name and decimals. A contract that answers
// none of them is absent from the map: unknown, which is not the same as an
// empty symbol or zero decimals. Tokens that are found beside an error are good;
// the error says that others could not be asked.
func Fetch(ctx context.Context, c Caller, ch *chain.Chain, block uint64, addrs []common.Address) (map[common.Address]Token, error) {
	f := fetcher{caller: c, chain: ch, out: make(map[common.Address]Token), plainLeft: maxPlain}
	ask := distinct(addrs)
	var cut error
	if len(ask) > maxTokens {
		cut = fmt.Errorf("fetch token metadata: %d contracts not asked", len(ask)-maxTokens)
		ask = ask[:maxTokens]
	}
	multicall := ch.Multicall3 != nil && block >= ch.MulticallFrom
	for len(ask) > 0 && !f.stopped(ctx) {
		n := min(len(ask), batchTokens)
		if multicall {
			f.batch(ctx, ask[:n])
		} else {
			f.plain(ctx, ask[:n])
		}
		ask = ask[n:]
	}
	if err := ctx.Err(); err != nil {
		return f.out, fmt.Errorf("fetch token metadata: %w", err)
	}
	if f.lost != nil {
		return f.out, fmt.Errorf("fetch token metadata: %w", f.lost)
	}
	return f.out, cut
}

func distinct(addrs []common.Address) []common.Address {
	seen := make(map[common.Address]bool, len(addrs))
	var out []common.Address
	for _, a := range addrs {
		if !seen[a] && a != (common.Address{}) {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// fetcher is the state of one Fetch.
type fetcher struct {
	caller    Caller
	chain     *chain.Chain
	out       map[common.Address]Token
	plainLeft int
	failures  int   // calls in a row that were not answered
	lost      error // why contracts were not asked
}

// stopped reports whether asking on is of no use.
func (f *fetcher) stopped(ctx context.Context) bool {
	return ctx.Err() != nil || f.lost != nil
}

// call counts failures in a row; a call that the contract refused is an answer.
func (f *fetcher) call(ctx context.Context, to common.Address, data []byte) ([]byte, error) {
	if f.lost != nil {
		return nil, f.lost
	}
	out, err := f.caller.CallContract(ctx, to, data)
	if err == nil || refused(err) {
		f.failures = 0
		return out, err
	}
	if f.failures++; f.failures >= maxFailures {
		f.lost = err
	}
	return nil, err
}

// refused tells a contract's doing (a failed execution, an answer beyond every
// limit) from an endpoint that does not answer, by the words nodes and clients
// use: there is no error code they agree on.
func refused(err error) bool {
	text := strings.ToLower(err.Error())
	for _, w := range []string{"revert", "invalid opcode", "out of gas", "invalid jump",
		"stack underflow", "vm execution", "bad instruction", "too large", "larger than the limit"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// batch asks through Multicall3. A batch that a contract spoils (by burning all
// gas, by answering without end) is halved; a single one is asked directly. An
// endpoint that does not answer one batch is not asked for the rest.
func (f *fetcher) batch(ctx context.Context, ask []common.Address) {
	if len(ask) == 0 || f.stopped(ctx) {
		return
	}
	answers, err := f.aggregate(ctx, ask)
	switch {
	case err == nil:
		for i, a := range ask {
			f.storeToken(a, [3][]byte(answers[3*i:3*i+3]))
		}
	case !errors.Is(err, errNoMulticall) && !errors.Is(err, errBatch) && !refused(err):
		f.lost = err
	case errors.Is(err, errNoMulticall) || len(ask) == 1:
		f.plain(ctx, ask)
	default:
		f.batch(ctx, ask[:len(ask)/2])
		f.batch(ctx, ask[len(ask)/2:])
	}
}

// plain asks contract by contract.
func (f *fetcher) plain(ctx context.Context, ask []common.Address) {
	for i, a := range ask {
		if f.stopped(ctx) {
			return
		}
		if f.plainLeft == 0 {
			f.lost = fmt.Errorf("%d contracts not asked: no Multicall3 at this block", len(ask)-i)
			return
		}
		f.plainLeft--
		var answers [3][]byte
		for j, selector := range metadata {
			out, err := f.call(ctx, a, selector)
			if err != nil {
				continue // reverts where the function is missing
			}
			answers[j] = out
		}
		f.storeToken(a, answers)
	}
}

// anyWord reports whether decimals may be what a fallback returns to every call: where a
// text should be, it returned a number.
func anyWord(answers [3][]byte) bool {
	number := func(b []byte) bool { return len(b) == word && b[0] == 0 }
	return number(answers[0]) || number(answers[1])
}

// storeToken stores what a contract answered, if it answered anything.
func (f *fetcher) storeToken(a common.Address, answers [3][]byte) {
	t := Token{Address: a, Source: ruleChain}
	var okSymbol, okName bool
	t.Symbol, okSymbol = text(answers[0])
	t.Name, okName = text(answers[1])
	if d, ok := decimals(answers[2]); ok {
		t.Decimals = &d
	}
	if !okSymbol && !okName && (t.Decimals == nil || anyWord(answers)) {
		return
	}
	t.claim(f.chain.ID)
	f.out[a] = t
}
