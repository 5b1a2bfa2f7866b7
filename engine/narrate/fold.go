package narrate

import (
	"math/big"

	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// folding says which movements another step tells of.
type folding struct {
	transfers  map[int]bool     // indices of Flow.Transfers
	moves      map[int]bool     // indices of Flow.Moves
	remainders map[int]*big.Int // what another step leaves of a movement, by its index in Flow.Moves
	pools      map[*facts.Match]poolStep
	told       map[facts.Act]bool // whether steps of their own tell of the events of an act
}

// poolStep is what the step of a pool tells of.
type poolStep struct {
	took, gave flow.Delta
	logs       []int // of the transfers
	fees       []tokenFee
}

// maxFolded bounds the pools whose transfers are looked for.
const maxFolded = 64

// foldable finds the movements that a swap or a wrapping tells of: what a pool took and
// gave, and the native coin that went into its wrapped form and came out of it.
func (a *stepWriter) foldable() *folding {
	f := &folding{}
	if a.Flow == nil {
		return f
	}
	fees := a.paidMessageFees()
	if len(a.Flow.Transfers)+len(fees) == 0 {
		return f
	}
	f.transfers, f.moves, f.remainders, f.pools = map[int]bool{}, map[int]bool{}, map[int]*big.Int{}, map[*facts.Match]poolStep{}
	for i := range a.Matches {
		if h := &a.Matches[i]; h.Act == facts.ActSwap && h.Log != facts.NoLog && len(f.pools) < maxFolded {
			a.foldPool(f, h)
		}
	}
	for i := range a.Flow.Moves {
		m := &a.Flow.Moves[i]
		if m.Kind == flow.MoveCall && (a.WrappedNative(m.To) || a.WrappedNative(m.From)) && a.wrapMentioned(m) {
			f.moves[i] = true
		}
	}
	a.foldMessageFees(f, fees)
	return f
}

func (a *stepWriter) foldPool(f *folding, h *facts.Match) {
	took, gave, ok := a.poolSides(h)
	if !ok {
		return
	}
	x := poolStep{took: took, gave: gave}
	paid, got := false, false
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		switch key := t.Key(); {
		case f.transfers[i] || t.From == (common.Address{}) || t.To == (common.Address{}):
			continue
		case !paid && t.To == h.Emitter && key == took.Key && t.Amount.Cmp(took.Amount) == 0:
			paid = true
			a.foldTokenFee(f, &x, i, true)
		case !got && t.From == h.Emitter && key == gave.Key && t.Amount.Cmp(gave.Amount) == 0:
			got = true
		case !got && t.From == h.Emitter && key == gave.Key && a.isTaxed(i, gave.Amount):
			got = true
			a.foldTokenFee(f, &x, i, false)
		default:
			continue
		}
		f.transfers[i] = true
		x.logs = append(x.logs, t.Log)
	}
	f.pools[h] = x
}

// wrapMentioned reports whether a transfer tells that native coin of this amount was wrapped or
// unwrapped.
func (a *stepWriter) wrapMentioned(m *flow.Move) bool {
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Wrap && t.Amount.Cmp(m.Amount) == 0 && (t.Token == m.To && t.To == m.From || t.Token == m.From && t.From == m.To) {
			return true
		}
	}
	return false
}

// mentionedElsewhere reports whether an event says nothing that another step does not say: a
// swap without amounts beside its transfers, a liquidation beside its seizure, a flash
// loan beside its repayment.
func (a *stepWriter) mentionedElsewhere(h *facts.Match, f *folding) bool {
	if h.Act == facts.ActSwap {
		_, ok := f.pools[h]
		return !ok && h.Log != facts.NoLog && a.Flow != nil && len(a.Flow.Transfers) > 0
	}
	told, known := f.told[h.Act]
	if known {
		return told
	}
	switch h.Act {
	case facts.ActLiquidate:
		list, _ := a.Seizures()
		told = len(list) > 0
	case facts.ActFlashLoan:
		told = len(a.Loans()) > 0
	case facts.ActNFTSale:
		told = len(a.Sales()) > 0
	default:
		return false
	}
	if f.told == nil {
		f.told = map[facts.Act]bool{}
	}
	f.told[h.Act] = told
	return told
}

// openingDetail is that of the first step.
func (a *stepWriter) openingDetail() Detail {
	d := Detail{Kind: KindCall, Actor: &a.Sender}
	switch {
	case a.Tx.To == nil:
		d.Kind = KindDeployment
	case len(a.Tx.Input) == 0:
		d.Kind = KindTransfer
	}
	if a.Tx.Value.Sign() > 0 {
		d.Amounts = []verdict.Amount{{N: a.Tx.Value}}
	}
	return d
}

// moveDetail is that of a token transfer.
func (a *stepWriter) moveDetail(t *flow.Transfer) Detail {
	d := Detail{Kind: KindTransfer, Actor: &t.From, Amounts: []verdict.Amount{{Key: t.Key(), N: t.Amount}}}
	wrap := t.Wrap || a.WrappedNative(t.Token)
	switch zero := (common.Address{}); {
	case t.From == zero && wrap:
		d.Kind, d.Actor = KindWrap, &t.To
	case t.To == zero && wrap:
		d.Kind = KindUnwrap
	case t.From == zero:
		d.Kind, d.Actor = KindMint, &t.To
	case t.To == zero:
		d.Kind = KindBurn
	}
	return d
}
