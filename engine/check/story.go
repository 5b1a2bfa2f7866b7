package check

import (
	"math/big"

	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// story says what happened, by the rule that fired.
func (a *attack) story(h *hit, victims []common.Address) verdict.Sentence {
	victim := verdict.Who(h.faulty)
	if len(victims) > 0 {
		victim = verdict.Who(victims[0])
	}
	faulty := victim
	if h.faulty != (common.Address{}) {
		faulty = verdict.Who(h.faulty)
	}
	accounts := verdict.Count{N: len(victims), Of: verdict.OfAccounts}
	say := verdict.Say
	switch h.rule.name {
	case "absurd_argument":
		return say(verdict.CauseOverflow, verdict.Num(h.position.Amount), faulty)
	case "absurd_amount":
		return say(verdict.CauseOverflow, a.told(h.position), faulty)
	case "forged_callback":
		return say(verdict.CauseForgedCallback, faulty)
	case "pull_embedded", "arbitrary_call":
		return say(verdict.CauseArbitraryCall, faulty, a.told(h.position), accounts)
	case "signed_drain":
		return say(verdict.CauseSignedRight, a.takersOf(h))
	case "signed_order":
		return say(verdict.CauseSignedOrder, a.takersOf(h))
	case "split_takings":
		return say(verdict.CauseSplitTakings, verdict.Who(a.frame(h.frames[0]).From), a.takersOf(h))
	case "paid_claim":
		return say(verdict.CausePaidClaim, verdict.Who(a.f.Tree.Root.To), a.takersOf(h))
	case "pull_named":
		return say(verdict.CausePull, faulty, a.told(h.position), accounts)
	case "forced_trades":
		return say(verdict.CauseForcedTrades, faulty, accounts)
	case "granted_approval":
		return say(verdict.CauseGrantedApproval, verdict.Count{N: h.count, Of: verdict.OfContracts})
	case "foreign_delegate":
		return say(verdict.CauseForeignCode, victim)
	case "reenter":
		return say(verdict.CauseReentry, faulty)
	case "reenter_other":
		return say(verdict.CauseCrossReentry, faulty, verdict.Who(a.frame(h.frames[0]).To))
	case "fake_input":
		return say(verdict.CauseFakeInput, faulty)
	case "skim_loop", "sync_trade":
		return say(verdict.CausePairCalls, victim)
	case "pair_off_stack":
		return say(verdict.CausePairBalance, a.told(h.position), victim)
	case "initialised_anew":
		return say(verdict.CauseInitialised, victim)
	case "took_control":
		return say(verdict.CauseControl, victim)
	case "product_fell":
		return say(verdict.CauseProductFell, victim)
	case "self_transfer":
		return say(verdict.CauseSelfTransfer, faulty)
	case "price_jump":
		return say(verdict.CausePriceJump, faulty, verdict.Num(h.values[0]), verdict.Num(h.values[1]))
	case "emptied_by_custom_mint":
		if h.grade != decisive {
			return say(verdict.CauseMostOfPool, victim, a.told(h.position))
		}
		return say(verdict.CauseUnbackedSale, a.told(h.position))
	case "unbacked_sale":
		return say(verdict.CauseUnbackedSale, a.told(h.position))
	case "abandoned_collateral":
		return say(verdict.CauseAbandonedLoan, a.told(h.position))
	case "round_trip":
		if h.position.Amount != nil {
			return say(verdict.CauseRoundTrip, victim, a.told(h.position))
		}
		return say(verdict.CauseRoundTripBetween, verdict.Who(a.pool(h)))
	case "pool_robbed":
		return say(verdict.CauseRobbedPool, a.lostBy(victim), victim)
	case "in_and_out", "deposit_withdraw":
		return say(verdict.CauseInAndOut, faulty, a.told(h.position))
	case "front_runner":
		return say(verdict.CauseFrontRunner, a.told(h.position), victim)
	case "self_liquidation":
		return say(verdict.CauseSelfLiquidation, faulty)
	case "hammer":
		return say(verdict.CauseSameFunction, faulty, verdict.Count{N: h.count, Of: verdict.OfTimes})
	case "same_call":
		return say(verdict.CauseRepetition, faulty, verdict.Count{N: h.count, Of: verdict.OfTimes})
	case "clones":
		return say(verdict.CauseClones, verdict.Count{N: h.count, Of: verdict.OfContracts})
	case "flash_vote":
		return say(verdict.CauseBorrowedVotes, faulty)
	}
	return say(verdict.CauseUnpaid, victim, a.lostBy(victim))
}

// lostBy lists what an account lost; what the side gained, where its own ledger does not
// tell.
func (a *attack) lostBy(who verdict.Who) (out verdict.List) {
	for _, p := range a.lost(nil, []common.Address{common.Address(who)}) {
		if len(out) < maxTold {
			out = append(out, a.told(p))
		}
	}
	for _, p := range a.f.Gains {
		if len(out) == 0 {
			out = append(out, a.told(p))
		}
	}
	if len(out) == 0 {
		out = append(out, amount(facts.Key{}, new(big.Int)))
	}
	return out
}

// takersOf names who has the assets of a drain.
func (a *attack) takersOf(h *hit) (out verdict.List) {
	for _, t := range h.takers {
		if len(out) < maxTold {
			out = append(out, verdict.Who(t))
		}
	}
	return out
}

// pool is the pool of a round trip.
func (a *attack) pool(h *hit) common.Address {
	for i := range a.f.Trades {
		if t := &a.f.Trades[i]; t.Deal == h.deals[0] {
			return t.Pool
		}
	}
	return a.f.Deals[h.deals[0]].Target
}
