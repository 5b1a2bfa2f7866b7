package triage

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Ruled says how a check came out.
type Ruled string

const (
	Clean         Ruled = "clean"
	NotApplicable Ruled = "not_applicable" // the transaction has nothing that it could be about
	NotChecked    Ruled = "not_checked"    // the evidence does not tell
	Found         Ruled = "found"          // a finding or a risk flag tells of it; no line of what was ruled out
)

// Words is how a line of nonFindings says it.
func (r Ruled) Words() string { return strings.ReplaceAll(string(r), "_", " ") }

// Check is one of those that a triage goes through.
type Check struct {
	Name  string
	Words string // what a reader is told it is
	run   func(*look) (Ruled, string)
	// causes of findings that tell of what the check looks for.
	causes []api.Category
	// Open: where the rules could not check it, what lies outside of their evidence may
	// tell, such as a source or the state at the block.
	Open bool
}

// Contradicted reports whether a finding tells of what the check looks for.
func (c *Check) Contradicted(findings []api.Finding) bool {
	return slices.ContainsFunc(findings, func(f api.Finding) bool { return slices.Contains(c.causes, f.Category) })
}

// Outcome is how one check came out, and why.
type Outcome struct {
	Check
	Result Ruled
	Why    string
}

// Line is the outcome as one line of nonFindings, empty for what was found.
func (o Outcome) Line() string {
	if o.Result == Found {
		return ""
	}
	s := strings.ToUpper(o.Words[:1]) + o.Words[1:] + ": " + o.Result.Words()
	if o.Why != "" {
		s += "; " + o.Why
	}
	return s
}

// Checks are the fixed list, in its order; the rules, the model and what is written of
// both have no other. It is filled in init, because what the checks do reaches back to
// it.
var Checks []Check

func init() {
	type causes = []api.Category
	Checks = []Check{
		{"reentrancy", "reentrancy into a contract that later writes", (*look).checkReentrancy, causes{api.Reentrancy}, false},
		{"flash_loan", "flash loan, borrowed and repaid", flagCheck("no lender's event and no callback of one", verdict.FlashLoan), nil, false},
		{"price_moved", "price moved by more than 5 % and read in the same transaction", (*look).checkPrice, causes{api.PriceManipulation}, false},
		{"share_price_fell", "share price fell", (*look).checkSharePrice, causes{api.PrecisionLoss}, true},
		{"caller_controlled_target", "target and calldata of a call taken from the caller", (*look).checkTarget, causes{api.ArbitraryCall}, false},
		{"control_changed", "owner, role, implementation, threshold or module changed", flagCheck("no event says so", verdict.ControlFlags()...), causes{api.AccessControl}, false},
		{"unlimited_approval", "unlimited approval to an unlabelled spender", flagCheck("no right of the kind was given", verdict.UnlimitedApproval, verdict.OperatorApproval), causes{api.PhishingApproval}, false},
		{"unverified_delegatecall", "delegatecall to unverified or fresh code", (*look).checkDelegate, causes{api.StorageCollision}, false},
		{"self_destruct", "self-destruct, or a caller that is a constructor", (*look).checkDestroyed, nil, false},
		{"token_behaviour", "token with a fee or that rebases", (*look).checkTokens, causes{api.TokenIncompatibility}, true},
		{"sandwich", "sandwich around the transaction", (*look).checkSandwich, causes{api.SlippageExposure}, true},
		{"lookalike_address", "poisoned look-alike address", flagCheck("no token and no counterparty imitates another", verdict.AddressPoisoning), nil, false},
		{"bad_debt", "bad debt", flagCheck("no market booked any", verdict.BadDebt), nil, false},
		{"caught_inner_failure", "caught inner failure", (*look).checkCaught, nil, false},
		{"drained", "contract drained by 99 % or more", (*look).checkDrained, nil, true},
		{"mixer_funded", "sender funded by a mixer", func(*look) (Ruled, string) {
			return NotChecked, "where the sender's coin came from lies outside of the transaction"
		}, nil, true},
		{"conservation", "sum of a token's movements is what was minted less what was burnt", (*look).checkConservation, nil, false},
		{"constant_product", "product of a pair's reserves does not fall by trades", (*look).checkProduct, nil, false},
		{"bounded_output", "what a swap gave is at least the minimum of its calldata", (*look).checkMinimum, nil, true},
		{"solvency", "assets of a lender cover its debts", (*look).checkSolvency, nil, true},
	}
}

// outcomes runs all checks. What a finding tells of is no outcome of its own.
func (l *look) outcomes(found []api.Finding) []Outcome {
	out := make([]Outcome, 0, len(Checks))
	for _, c := range Checks {
		o := Outcome{Check: c}
		switch {
		case !l.Succeeded:
			o.Result, o.Why = NotApplicable, "the transaction failed and changed nothing but the fee"
		case c.Contradicted(found):
			o.Result = Found
		default:
			o.Result, o.Why = c.run(l)
		}
		out = append(out, o)
	}
	return out
}

func (l *look) flagged(flags ...verdict.Flag) bool {
	return verdict.Flagged(l.raised, flags...) || l.Verdict != nil && verdict.Flagged(l.Verdict.Risks, flags...)
}

// flagCheck is clean when none of the risk flags is up, which look at the receipt and,
// where there is one, at the trace.
func flagCheck(why string, flags ...verdict.Flag) func(*look) (Ruled, string) {
	return func(l *look) (Ruled, string) {
		if l.flagged(flags...) {
			return Found, ""
		}
		return Clean, why
	}
}

const noTrace = "there is no whole call trace, or one too large to go through"

func (l *look) checkReentrancy() (Ruled, string) {
	if !l.full() {
		return NotChecked, noTrace
	}
	again := l.reentered()
	if len(again) == 0 {
		return Clean, "no contract was entered again while a call of it was running"
	}
	for _, a := range again {
		if len(l.losses(a)) > 0 && (l.Diff == nil || len(l.changed(a)) > 0) {
			return NotChecked, l.words().Who(a) + " was entered again; in which order it wrote is not in a call trace"
		}
	}
	return Clean, fmt.Sprintf("%s entered again while a call was running, and none lost to the sender's side what it had not booked", api.Count(len(again), "contract"))
}

// reentered lists the contracts that others called again while a call of theirs ran.
func (l *look) reentered() (out []common.Address) {
	for _, f := range l.Tree.Frames {
		if f.Kind != trace.Call && f.Kind != trace.StaticCall || f.From == f.To || f.Status != trace.OK {
			continue
		}
		for up := f.Parent; up != nil; up = up.Parent {
			if up.To == f.To && up.Kind == trace.Call {
				if !slices.Contains(out, f.To) {
					out = append(out, f.To)
				}
				break
			}
		}
	}
	return out
}

func (l *look) checkPrice() (Ruled, string) {
	switch {
	case l.flagged(verdict.PriceMoved):
		return Found, ""
	case !l.full():
		return NotChecked, noTrace
	}
	return Clean, "no contract that paid the sender's side had read a price that was moved before"
}

// checkSharePrice follows the price of each ERC-4626 vault from event to event.
func (l *look) checkSharePrice() (Ruled, string) {
	type price struct{ assets, shares *big.Int }
	last, events := map[common.Address]price{}, 0
	if l.Receipt == nil {
		return NotChecked, "there is no receipt"
	}
	compared := false
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		deposit := len(g.Topics) == 3 && g.Topics[0] == evmsig.TopicVaultDeposit
		if len(g.Data) != 64 || !deposit && !(len(g.Topics) == 4 && g.Topics[0] == evmsig.TopicVaultWithdraw) {
			continue
		}
		events++
		p := price{evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1)}
		if before, ok := last[g.Address]; ok && before.shares.Sign() > 0 && p.shares.Sign() > 0 {
			compared = true
			// It fell when assets/shares is lower than before, by more than a unit of rounding
			// and a thousandth.
			now := new(big.Int).Mul(new(big.Int).Mul(new(big.Int).Add(p.assets, common.Big1), before.shares), big.NewInt(1001))
			then := new(big.Int).Mul(new(big.Int).Mul(before.assets, p.shares), big.NewInt(1000))
			if now.Cmp(then) < 0 {
				return NotChecked, fmt.Sprintf("%s gave another price at log %d than before; whether by a loss or by rounding is not told", l.words().Who(g.Address), g.Index)
			}
		}
		last[g.Address] = p
	}
	switch {
	case events == 0:
		return NotApplicable, "no vault took or gave anything"
	case !compared:
		return NotChecked, "no vault told its price twice"
	}
	return Clean, "from one deposit or withdrawal to the next it did not fall"
}

func (l *look) checkTarget() (Ruled, string) {
	if !l.full() {
		return NotChecked, noTrace
	}
	n := 0
	for _, f := range l.Tree.Frames {
		if len(f.Input) < 4 || f.Status != trace.OK {
			continue
		}
		for _, c := range f.Children {
			if c.Kind == trace.Call && len(c.Input) >= 4 && free(f, c) {
				n++
			}
		}
	}
	if n == 0 {
		return Clean, "no call repeats target and bytes of the one that it stands in"
	}
	return Clean, fmt.Sprintf("%s made as the caller asked, and none took what others had approved", api.Count(n, "call"))
}

func (l *look) checkDelegate() (Ruled, string) {
	switch {
	case l.flagged(verdict.UnverifiedDelegatecall):
		return Found, ""
	case !l.full():
		return NotChecked, noTrace
	case !slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool { return f.Kind == trace.DelegateCall || f.Kind == trace.CallCode }):
		return NotApplicable, "no code ran on behalf of another account"
	case len(l.Contracts) == 0:
		return NotChecked, "sources were not asked for, or nobody has any"
	}
	return Clean, "all code that ran on behalf of another account is known"
}

func (l *look) checkDestroyed() (Ruled, string) {
	if !l.full() {
		return NotChecked, noTrace
	}
	for _, f := range l.Tree.Frames {
		if f.Kind == trace.SelfDestruct && f.Status == trace.OK || f.Kind.Creates() && f.Status == trace.OK &&
			slices.ContainsFunc(f.Children, func(c *trace.Frame) bool { return c.Kind == trace.Call && len(c.Input) >= 4 && !l.own[c.To] }) {
			return NotChecked, fmt.Sprintf("frame %s destroys its contract or acts from a constructor; that alone is no fault", f.Path())
		}
	}
	return Clean, "nothing was destroyed and no constructor called others"
}

func (l *look) checkSandwich() (Ruled, string) {
	if l.flagged(verdict.Sandwich) || l.Verdict != nil && l.Verdict.Sandwich != nil {
		return Found, ""
	}
	if l.Verdict == nil || l.Verdict.TxType == nil || *l.Verdict.TxType != api.TypeSwap {
		return NotApplicable, "it is no swap"
	}
	if l.Neighbours != nil {
		return Clean, "nobody traded in the same pools the same way before it and back after it"
	}
	return NotChecked, "the transactions around it were not compared"
}

func (l *look) checkCaught() (Ruled, string) {
	switch {
	case l.flagged(verdict.CaughtInnerFailure, verdict.InnerFailure):
		return Found, ""
	case !l.full():
		return NotChecked, noTrace
	case l.Tree.Failed > 0:
		return Clean, "what failed was a precompile, which changes nothing"
	}
	return Clean, "no call failed"
}

func (l *look) checkDrained() (Ruled, string) {
	switch {
	case l.flagged(verdict.Drain):
		return Found, ""
	case l.Diff == nil:
		return NotChecked, "what contracts held before is not known without a state diff"
	}
	return Clean, "no contract lost 99 % of an asset that it held"
}

func (l *look) checkProduct() (Ruled, string) {
	type state struct{ k *big.Int }
	last, n := map[common.Address]state{}, 0
	if l.Receipt == nil {
		return NotChecked, "there is no receipt"
	}
	burnt := map[common.Address]bool{}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if len(g.Topics) == 0 {
			continue
		}
		if g.Topics[0] == evmsig.TopicBurnV2 {
			delete(last, g.Address)
			burnt[g.Address] = true
		}
		if g.Topics[0] != evmsig.TopicSync || len(g.Topics) != 1 || len(g.Data) != 64 {
			continue
		}
		k := new(big.Int).Mul(evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1))
		before, ok := last[g.Address]
		if !ok && !burnt[g.Address] {
			if pre, _, has := l.slotOf(g.Address, reservesSlot); has {
				before, ok = state{productOf(pre)}, before.k == nil
			}
		}
		if ok {
			n++
			if k.Cmp(before.k) < 0 && !l.burnsAfter(i) {
				return NotChecked, fmt.Sprintf("the product of %s fell at log %d without a trade's event to explain it", l.words().Who(g.Address), g.Index)
			}
		}
		last[g.Address] = state{k}
	}
	if n == 0 {
		return NotApplicable, "no pair told its reserves before and after"
	}
	return Clean, fmt.Sprintf("%s of reserves compared", api.Count(n, "change"))
}

func productOf(packed common.Hash) *big.Int {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 112), big.NewInt(1))
	n := packed.Big()
	return new(big.Int).Mul(new(big.Int).And(n, mask), new(big.Int).And(new(big.Int).Rsh(n, 112), mask))
}

// burnsAfter reports whether the change of reserves at a log belongs to a withdrawal of
// liquidity: a pair tells its reserves and then of the burn.
func (l *look) burnsAfter(i int) bool {
	for j := i + 1; j < len(l.Receipt.Logs); j++ {
		if g := &l.Receipt.Logs[j]; g.Address == l.Receipt.Logs[i].Address {
			return len(g.Topics) > 0 && g.Topics[0] == evmsig.TopicBurnV2
		}
	}
	return false
}

func (l *look) checkSolvency() (Ruled, string) {
	if l.flagged(verdict.BadDebt) {
		return Found, ""
	}
	if l.Verdict == nil || l.Verdict.SubType != "borrow" && l.Verdict.SubType != "withdraw" && l.Verdict.SubType != "liquidation" {
		return NotApplicable, "nobody borrowed"
	}
	return NotChecked, "the lender's books are not in the evidence"
}

// checkMinimum compares what came in with what the call asked for at least.
func (l *look) checkMinimum() (Ruled, string) {
	if l.flagged(verdict.NoSlippageLimit) {
		return Found, ""
	}
	least, ok := l.words().Minimum()
	if !ok {
		return NotApplicable, "no call of a known router names a minimum"
	}
	for i := range l.pays {
		k := l.pays[i].key
		if l.gain(k).Cmp(least) >= 0 {
			return Clean, "at least " + least.String() + " base units were asked for and came"
		}
	}
	return NotChecked, "to whom the output went is not told by what the sender's side gained"
}

// checkConservation holds the balances that the state shows against the tokens' logs, of
// which what is minted and burnt is a part.
func (l *look) checkConservation() (Ruled, string) {
	if len(l.Flow.Transfers) == 0 {
		return NotApplicable, "no token moved"
	}
	holders, tokens := 0, 0
	for i := range l.Flow.Checks {
		switch c := &l.Flow.Checks[i]; c.Backing {
		case flow.Backed:
			holders += c.Holders
			tokens++
		case flow.KeepsPart, flow.Scaled:
		default:
			return NotChecked, fmt.Sprintf("what %s logs and what it stores differ", l.words().Who(c.Token))
		}
	}
	if tokens == 0 {
		return NotChecked, "there is no storage to hold the logs against, or none that is understood"
	}
	return Clean, fmt.Sprintf("%s of %s moved by what the logs say", api.Count(holders, "balance"), api.Count(tokens, "token"))
}

func (l *look) checkTokens() (Ruled, string) {
	if len(l.Flow.Transfers) == 0 {
		return NotApplicable, "no token moved"
	}
	if l.flagged(verdict.FakeTransferEvent) {
		return Found, ""
	}
	backed := 0
	for i := range l.Flow.Checks {
		c := &l.Flow.Checks[i]
		switch c.Backing {
		case flow.Backed:
			backed++
		case flow.KeepsPart, flow.Scaled:
			return NotChecked, fmt.Sprintf("%s is such a token; whether anybody who dealt with it did not expect it is not told", l.words().Who(c.Token))
		default:
			return NotChecked, fmt.Sprintf("balances of %s moved otherwise than its logs say", l.words().Who(c.Token))
		}
	}
	if backed == 0 {
		return NotChecked, "the balances of these tokens could not be held against their logs"
	}
	return Clean, fmt.Sprintf("the balances of %s moved by what the logs say", api.Count(backed, "token"))
}
