package facts

import (
	"math/big"

	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// moves puts the movements of coin and tokens into the order of execution.
func (f *Layout) moves() {
	coin := map[int][]int{}
	for i := range f.Flow.Moves {
		m := &f.Flow.Moves[i]
		if m.Kind != flow.MoveFee && m.Kind != flow.MoveMint && !m.NoTo && m.Frame >= 0 {
			coin[m.Frame] = append(coin[m.Frame], i)
		}
	}
	tokens := map[int][]int{} // by log, or by call where no logs are known
	for i := range f.Flow.Transfers {
		t := &f.Flow.Transfers[i]
		at := t.Log
		if f.NoLogs {
			at = t.Call
		}
		tokens[at] = append(tokens[at], i)
	}
	f.Moves = make([]Move, 0, len(f.Flow.Moves)+len(f.Flow.Transfers))
	f.spans = make([][2]int, len(f.Tree.Frames))
	f.walk(f.Tree.Root, coin, tokens)
	for i := range f.Flow.Transfers { // of logs that no frame has
		t := &f.Flow.Transfers[i]
		if _, left := tokens[t.Log]; left && !f.NoLogs {
			f.transfer(0, t)
		}
	}
}

func (f *Layout) walk(x *trace.Frame, coin, tokens map[int][]int) {
	f.spans[x.Index][0] = len(f.Moves)
	defer func() { f.spans[x.Index][1] = len(f.Moves) }()
	for _, i := range coin[x.Index] {
		m := &f.Flow.Moves[i]
		f.Moves = append(f.Moves, Move{From: m.From, To: m.To, Amount: m.Amount, Frame: x.Index, Log: -1, ExternalCall: -1})
	}
	take := func(at int) {
		for _, i := range tokens[at] {
			f.transfer(x.Index, &f.Flow.Transfers[i])
		}
		delete(tokens, at)
	}
	if f.NoLogs {
		take(x.Index)
	}
	for item := range x.Items() {
		switch {
		case item.Child != nil:
			f.walk(item.Child, coin, tokens)
		case item.Log != nil && item.Log.Receipt >= 0 && !f.NoLogs:
			take(item.Log.Receipt)
		}
	}
}

// transfer adds a movement of a token. Of the wrapped coin, minting and burning are an
// exchange with the wrapper.
func (f *Layout) transfer(frame int, t *flow.Transfer) {
	m := Move{
		Token:        t.Token,
		Key:          t.Key(),
		From:         t.From,
		To:           t.To,
		Amount:       t.Amount,
		Frame:        frame,
		Log:          t.Log,
		ExternalCall: -1,
	}
	if f.NoLogs {
		m.Log = -1
	}
	if t.ID == nil && f.KeyOf(t.Token) == (Key{}) {
		m.Key = Key{}
		if m.From == (common.Address{}) {
			m.From = t.Token
		}
		if m.To == (common.Address{}) {
			m.To = t.Token
		}
	}
	if m.Amount == nil {
		m.Amount = new(big.Int)
	}
	f.Moves = append(f.Moves, m)
}

// Asset is what moved: the wrapped token of the native coin itself, and not the coin.
func (m *Move) Asset() Key {
	if m.Key == (Key{}) {
		return Key{Token: m.Token}
	}
	return m.Key
}

// KeyOf is the asset of a fungible token: the wrapped token of the native coin is the coin.
func (f *Layout) KeyOf(token common.Address) Key {
	if w := f.Chain.WrappedNative; w != nil && token == *w && !f.Chain.WrappedIsShare {
		return Key{}
	}
	return Key{Token: token}
}

// Inside lists the movements in a frame and below it.
func (f *Layout) Inside(frame int) []Move { return f.Moves[f.spans[frame][0]:f.spans[frame][1]] }

// Before is how many movements were made before a frame began.
func (f *Layout) Before(frame int) int { return f.spans[frame][0] }

// After is how many movements had been made when a frame ended.
func (f *Layout) After(frame int) int { return f.spans[frame][1] }
