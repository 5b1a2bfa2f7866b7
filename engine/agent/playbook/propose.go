package playbook

import (
	"regexp"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

// maxProposed bounds a proposal: more would say nothing.
const maxProposed = 4

// rule proposes a playbook of the embedded ones; an operator replaces what it says
// by a file of the same name.
type rule struct {
	name  string
	fires func(*signs) bool
}

// rules, most telling first. A failed transaction and a system's own come before
// all suspicion, since they explain most of what looks odd.
var rules = []rule{
	{"failed-transaction", func(s *signs) bool {
		return s.c.Result.Status == api.StatusReverted || s.risk(verdict.CaughtInnerFailure) && !s.suspect
	}},
	{"l2-system-transaction", func(s *signs) bool {
		return s.is(api.TypeRoutineInfra) || s.c.Evidence.Chain.Stack.TxType(s.c.Evidence.Tx.Type).System
	}},
	{"exploit-triage", func(s *signs) bool { return s.suspect }},
	{"unearned-gain", func(s *signs) bool { return s.c.Result.Dealings != nil }},
	{"reentrancy", func(s *signs) bool { return s.asks(reentry) || s.suspect && s.reentered() }},
	{"price-manipulation", func(s *signs) bool {
		return s.asks(pricing) || s.suspect && (s.risk(verdict.FlashLoan) || s.roundTrip())
	}},
	{"access-control", func(s *signs) bool { return s.asks(access) || s.risk(accessFlags...) }},
	{"liquidation", func(s *signs) bool { return s.is(api.TypeLiquidation) || s.risk(verdict.BadDebt) }},
	{"mev", func(s *signs) bool {
		return s.is(api.TypeMEV) || s.risk(verdict.CoinbasePayment) || s.runnerUp(api.TypeMEV) || s.asks(searcher)
	}},
	{"bridge", func(s *signs) bool { return s.is(api.TypeBridge) || s.runnerUp(api.TypeBridge) }},
	{"governance", func(s *signs) bool {
		return s.is(api.TypeGovernance) || s.runnerUp(api.TypeGovernance)
	}},
	{"account-abstraction", func(s *signs) bool {
		return len(s.c.Evidence.Tx.Authorizations) > 0 || s.risk(verdict.AccountDelegation, verdict.PaymasterOrPostopFailure) ||
			s.event("UserOperationEvent")
	}},
	{"approvals", func(s *signs) bool {
		return s.risk(verdict.OperatorApproval, verdict.BulkApprovals, verdict.ApprovalToReported) || s.asks(approval)
	}},
	{"token-oddities", func(s *signs) bool {
		return s.risk(verdict.AddressPoisoning, verdict.FakeAirdrop, verdict.FakeTransferEvent, verdict.StuckValue) ||
			s.imitation() || s.asks(oddToken)
	}},
}

// accessFlags suggest that the access to a contract was changed, or given away.
var accessFlags = append(verdict.ControlFlags(), verdict.UnverifiedDelegatecall)

// What an asker may have in mind. His words open a playbook and do nothing else.
var (
	attack = regexp.MustCompile(
		`(?i)\b(exploit\w*|hack\w*|attack\w*|drain\w*|stolen|theft|rug(ged|pull)?|root cause|vulnerab\w*|post.?mortem|incident)\b`,
	)
	reentry  = regexp.MustCompile(`(?i)\bre-?entran\w*`)
	pricing  = regexp.MustCompile(`(?i)\b(oracle|price manipulat\w*|manipulated price)\b`)
	access   = regexp.MustCompile(`(?i)\b(access control|unauthori[sz]ed|owner(ship)? (taken|stolen|changed)|upgrad(e|ed))\b`)
	searcher = regexp.MustCompile(`(?i)\b(mev|sandwich\w*|arbitrage\w*|back-?run\w*|front-?r[ua]n\w*)\b`)
	approval = regexp.MustCompile(`(?i)\b(phish\w*|approv\w*|allowances?|permit2?|revoke\w*|signed (an? )?(order|listing|message))\b`)
	oddToken = regexp.MustCompile(`(?i)\b(honeypot|scam token|fake token|poison\w*|rebas\w*|fee.on.transfer)\b`)
)

// signs are what the rules look at.
type signs struct {
	c       *assemble.Analysis
	context string
	suspect bool // somebody may have lost what he did not mean to give
}

// maxContext bounds what of the asker's words is searched.
const maxContext = 8 << 10

// Propose names the playbooks that the evidence and the asker's words suggest,
// most telling first, at most four: the operator's own that the asker names, those
// of the causes of findings, then others. It depends on nothing else.
func (l *Library) Propose(c *assemble.Analysis, context string) []string {
	if c == nil || c.Evidence.Tx == nil || c.Verdict == nil {
		return nil
	}
	s := &signs{c: c, context: context[:min(len(context), maxContext)]}
	s.suspect = s.suspicious()
	var out []string
	for _, name := range l.names { // the operator's own, by their name
		if l.books[name].Own && s.names(name) && len(out) < maxProposed {
			out = append(out, name)
		}
	}
	for _, name := range l.names {
		if len(out) < maxProposed && !slices.Contains(out, name) && slices.ContainsFunc(l.books[name].Causes, s.found) {
			out = append(out, name)
		}
	}
	for _, r := range rules {
		if len(out) == maxProposed {
			break
		}
		if _, known := l.books[r.name]; known && !slices.Contains(out, r.name) && r.fires(s) {
			out = append(out, r.name)
		}
	}
	return out
}

// found reports whether the rules have a finding of a category.
func (s *signs) found(c api.Category) bool {
	return s.c.Triage != nil && slices.ContainsFunc(s.c.Triage.Findings, func(f verdict.Finding) bool { return f.Facts.Category == c })
}

// names reports whether the asker named a playbook.
func (s *signs) names(playbook string) bool {
	return strings.Contains(" "+strings.ToLower(s.context)+" ", " "+playbook+" ")
}

func (s *signs) asks(re *regexp.Regexp) bool { return re.MatchString(s.context) }

func (s *signs) is(t api.TxType) bool { return s.c.Result.TxType != nil && *s.c.Result.TxType == t }

// runnerUp reports whether the best vote for another type than the result's is for t.
func (s *signs) runnerUp(t api.TxType) bool {
	v := s.c.Verdict.RunnerUp()
	return v != nil && v.TxType == t
}

// risk reports whether one of the flags is up.
func (s *signs) risk(flags ...verdict.Flag) bool { return verdict.Flagged(s.c.Verdict.Risks, flags...) }

func (s *signs) event(name string) bool {
	return slices.ContainsFunc(s.c.Result.PrettyTrace, func(n api.Node) bool { return n.Type == "LOG" && n.FunctionName == name }) ||
		s.emitted(name) > 0
}

// emitted is the largest number of events of that name by one contract.
func (s *signs) emitted(name string) (most int) {
	count := map[api.Addr]int{}
	for i, e := range s.c.Decoded.Events {
		if e == nil || e.Name != name {
			continue
		}
		a := api.AddrOf(s.c.Receipt.Logs[i].Address)
		count[a]++
		most = max(most, count[a])
	}
	return most
}

// suspicious is generous: a playbook too many costs little, and triage says itself
// what refutes it. Acts that take from others by their rules do not count.
func (s *signs) suspicious() bool {
	switch {
	case s.asks(attack) || s.is(api.TypeExploit):
		return true
	case s.c.Result.Status != api.StatusSuccess || s.is(api.TypeLiquidation) || s.is(api.TypeBridge) || s.is(api.TypeRoutineInfra):
		return false
	case s.risk(verdict.Drain, verdict.UninitialisedTakeover, verdict.FakeTransferEvent):
		return true
	}
	return s.risk(verdict.FlashLoan) && !s.is(api.TypeMEV) || s.freshGain() || s.robbed()
}

// freshGain: code of this very transaction calls others and its maker gains tokens.
func (s *signs) freshGain() bool {
	created := false
	for _, f := range s.c.Tree.Frames {
		if (f.Kind == trace.Create || f.Kind == trace.Create2) && f.From == s.c.Evidence.Tx.From || f.Depth == 0 && f.Kind == trace.Create {
			created = created || len(f.Children) > 2
		}
	}
	return created && s.senderGains()
}

func (s *signs) senderGains() bool {
	for _, b := range s.c.Result.BalanceChanges {
		if !b.IsSender {
			continue
		}
		for _, t := range b.Tokens {
			if t.TokenAddress != (api.Addr{}) && !strings.HasPrefix(t.RawSignedAmount, "-") {
				return true
			}
		}
	}
	return false
}

// lossUSD is from where a loss without anything in return is worth a look.
const lossUSD = 10_000

// robbed: an account that is neither the sender nor known to act lost much and got
// nothing, in a transaction that the rules could not name.
func (s *signs) robbed() bool {
	if !s.is(api.TypeOther) && s.c.Result.TxType != nil || s.c.Result.Protocol != nil {
		return false
	}
	for _, b := range s.c.Result.BalanceChanges {
		if b.IsSender || b.TotalUSD == nil || b.TotalUSD.Unscaled == nil {
			continue
		}
		lost := b.TotalUSD.Round(0)
		if lost.Unscaled.Sign() < 0 && lost.Unscaled.IsInt64() && -lost.Unscaled.Int64() >= lossUSD && onlyGave(b) {
			return true
		}
	}
	return false
}

func onlyGave(b api.BalanceChange) bool {
	for _, t := range b.Tokens {
		if !strings.HasPrefix(t.RawSignedAmount, "-") {
			return false
		}
	}
	return true
}

// reentered: a contract that takes effects is called while a call into it is open
// through another contract, and it is no token.
func (s *signs) reentered() bool {
	for _, r := range s.c.Case.Reentries() {
		if _, token := s.c.Evidence.Tokens[r.Inner.To]; !token && r.Inner.Kind == trace.Call {
			return true
		}
	}
	return false
}

// roundTrip: one pool was traded in twice or more.
func (s *signs) roundTrip() bool { return s.emitted("Swap") >= 2 || s.emitted("TokenExchange") >= 2 }

func (s *signs) imitation() bool {
	for _, t := range s.c.Evidence.Tokens {
		if t.Lookalike != "" {
			return true
		}
	}
	return false
}
