package check

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by what was done with the rights of owners who took no part: signed permits, signed
// orders, and approvals of earlier transactions.
var _ = register(&Check{
	order:  320,
	Name:   "owner_drain",
	Title:  "assets of owners taken by their signatures or approvals",
	Causes: []api.Category{api.PhishingApproval},
	rules: []rule{
		{name: "signed_drain", fires: (*inspection).signedDrain, sentence: render(verdict.CauseSignedRight, ofTakers), proves: true, alone: true, owners: true},
		{name: "signed_order", fires: (*inspection).signedOrder, sentence: render(verdict.CauseSignedOrder, ofTakers), proves: true, alone: true, owners: true},
		{name: "split_takings", fires: (*inspection).splitTakings, sentence: render(verdict.CauseSplitTakings, ofCaller, ofTakers), proves: true, alone: true, owners: true},
		{name: "paid_claim", fires: (*inspection).paidClaim, sentence: render(verdict.CausePaidClaim, ofEntry, ofTakers), alone: true, owners: true},
	},
})

// victim is an owner whose assets left without payment.
type victim struct {
	owner   common.Address
	lost    []facts.Position
	takers  []common.Address // unlabelled accounts, or those of the cluster, that have the assets now; by asset
	split   bool             // an asset went to several takers, none of which is a fee
	frames  []int            // where rights were brought
	moves   []int            // by which assets left
	open    bool             // a right without limit
	order   bool             // the owner signed what was to be done
	payment bool             // the owner signed a payment to a named payee
	right   bool             // the owner signed a right for somebody whom nobody vouches for
}

// maxDrained bounds how many owners are looked at.
const maxDrained = 50

// maxTakers is among how many accounts the loot of a drain is split at most: more are the
// payees of a payroll.
const maxTakers = 5

// minorShare is the least share, in percent, of the second taker of a split: less is a fee.
const minorShare = 5

// plain reports whether an account ran no code and nobody vouches for it.
func (l *inspection) plain(who common.Address) bool {
	return !l.f.RanCode(who) && !l.Vouched(who) && !facts.Nowhere(who)
}

// ownBusiness reports whether the transaction was made on behalf of an account, whose
// operation was itself signed.
func (l *inspection) ownBusiness(who common.Address) bool {
	if l.f.InAttackerCluster(who) {
		return true
	}
	return (l.ActorKind == facts.ActorUserOp || l.ActorKind == facts.ActorSafe) && slices.Contains(l.Actors, who)
}

// signers are the owners who signed something here and have less for nothing, in the
// order of their signatures.
func (l *inspection) signers() (out []victim) {
	at := map[common.Address]int{}
	for i := range l.f.Signed {
		s := &l.f.Signed[i]
		j, seen := at[s.Signer]
		if !seen {
			j = -1
			if !l.ownBusiness(s.Signer) && len(out) < maxDrained {
				if lost := l.f.Stripped(s.Signer); lost != nil {
					j = len(out)
					out = append(out, victim{owner: s.Signer, lost: lost})
				}
			}
			at[s.Signer] = j
		}
		if j < 0 {
			continue
		}
		v := &out[j]
		switch {
		case s.Kind == facts.SignedOrder:
			v.order = true
		case s.Kind == facts.SignedPayment:
			v.payment = true
		case !l.Vouched(s.Spender):
			v.right = true
			v.open = v.open || s.Unlimited()
		default: // a right for a known contract
			continue
		}
		v.frames = append(v.frames, s.Frame)
	}
	for i := range out {
		l.follow(&out[i])
	}
	return out
}

// follow finds who has the assets of an owner now.
func (l *inspection) follow(v *victim) {
	for i := range l.f.Moves {
		if m := &l.f.Moves[i]; m.From == v.owner && m.Amount.Sign() > 0 && len(v.moves) < maxVictims {
			v.moves = append(v.moves, i)
		}
	}
	for _, p := range v.lost {
		taken, minor, ok := l.takers(v, p)
		if !ok {
			v.takers = nil
			return
		}
		v.takers = append(v.takers, taken...)
		v.split = v.split || len(taken) <= maxTakers && minor >= minorShare
	}
}

// takers are the accounts that have an asset which an owner lost, and the share in percent
// of the second of them. It is ok only where they are plain accounts or the cluster, or the
// side sold the asset and kept the proceeds: what a contract of others has, a deposit, a
// bridge or an exchange has.
func (l *inspection) takers(v *victim, p facts.Position) (out []common.Address, minor int64, ok bool) {
	all, kept := new(big.Int), new(big.Int)
	var second *big.Int
	for _, s := range l.sharesOf(v, p.Key) {
		all.Add(all, s.Amount)
		if !l.f.InAttackerCluster(s.Account) && !l.plain(s.Account) {
			continue
		}
		kept.Add(kept, s.Amount)
		if out = append(out, s.Account); len(out) == 2 {
			second = s.Amount
		}
	}
	if second != nil {
		minor = new(big.Int).Quo(new(big.Int).Mul(second, big.NewInt(100)), all).Int64()
	}
	if all.Sign() > 0 && !exceeds(all, kept, 105) {
		return out, minor, true
	}
	sold := l.f.Free() && slices.ContainsFunc(l.f.Trades, func(t facts.Trade) bool { return t.Paid == p.Key })
	return []common.Address{l.f.Tx.From}, 0, sold
}

// sharesOf is who has what an owner lost of an asset: whom it was sent to, or where a
// contract of the party took it, who has more of it at the end.
func (l *inspection) sharesOf(v *victim, k facts.Key) (out []facts.Share) {
	sums := map[common.Address]*big.Int{}
	for _, i := range v.moves {
		m := &l.f.Moves[i]
		if m.Key != k {
			continue
		}
		if l.f.Tool(m.To) {
			return l.f.Shares(k)
		}
		if sums[m.To] == nil {
			sums[m.To] = new(big.Int)
		}
		sums[m.To].Add(sums[m.To], m.Amount)
	}
	return facts.SharesOf(sums)
}

// signedDrain: a right that the owner signed was brought and used by somebody else in the
// same transaction, nothing else that the owner signed asked for it, and the owner has
// nothing for it. A right alone does not say what it is for: a first payment of a
// subscription looks so. That there is no limit, that everything went, that several assets
// went or that the loot was split tells a theft; two of them decide.
func (l *inspection) signedDrain() (out []match) {
	list := slices.DeleteFunc(l.signers(), func(v victim) bool {
		return len(v.takers) == 0 || !(v.right && !v.order && !v.payment)
	})
	for i := range list {
		v := &list[i]
		marks := 0
		for _, sign := range []bool{v.open, v.split, len(v.lost) > 1, len(list) > 1} {
			if sign {
				marks++
			}
		}
		if marks > 0 {
			switch all, known := l.emptiedOwner(v); {
			case all:
				marks++
			case known && marks == 1 && v.open:
				continue // the owner still has most of it: a standing right, used once
			}
		}
		if marks > 0 {
			out = l.addDrain(out, v, marks > 1)
		}
	}
	return out
}

// emptiedOwner asks whether an owner lost nearly all that it had of the first fungible
// asset.
func (l *inspection) emptiedOwner(v *victim) (all, known bool) {
	for _, p := range v.lost {
		if !facts.Fungible(p.Key) || p.Key == (facts.Key{}) {
			continue
		}
		had := l.number(Question{
			To:    p.Key.Token,
			Data:  append(evmsig.SelBalanceOf[:], common.LeftPadBytes(v.owner[:], 32)...),
			When:  Before,
			Asker: "what an owner had whose assets were taken",
		})
		if had == nil {
			return false, false
		}
		return !exceeds(had, p.Amount, 105), true
	}
	return false, false
}

// addDrain adds an owner to the match of its grade.
func (l *inspection) addDrain(out []match, v *victim, decides bool) []match {
	g := suspicious
	if decides {
		g = decisive
	}
	i := slices.IndexFunc(out, func(h match) bool { return h.grade == g })
	if i < 0 {
		i = len(out)
		out = append(out, match{grade: g, category: api.PhishingApproval, position: v.lost[0]})
	}
	h := &out[i]
	h.victims = append(h.victims, v.owner)
	h.frames = append(h.frames, v.frames[:min(len(v.frames), 2)]...)
	h.moves = append(h.moves, v.moves[:min(len(v.moves), 3)]...)
	for _, t := range v.takers {
		if !slices.Contains(h.takers, t) {
			h.takers = append(h.takers, t)
		}
	}
	return out
}

// signedOrder: orders that owners signed gave several of their assets to the cluster, and the
// owners have nothing for it. One asset alone may be a gift or a voucher.
func (l *inspection) signedOrder() (out []match) {
	list := slices.DeleteFunc(l.signers(), func(v victim) bool {
		return !v.order || len(v.takers) == 0 ||
			slices.ContainsFunc(v.takers, func(t common.Address) bool { return !l.f.InAttackerCluster(t) })
	})
	for i := range list {
		v := &list[i]
		tokens := map[common.Address]bool{}
		for _, p := range v.lost {
			tokens[p.Key.Token] = true
		}
		if len(v.lost) > 1 || len(list) > 1 {
			out = l.addDrain(out, v, len(tokens) > 1 || len(list) > 1)
		}
	}
	return out
}

// splitTakings: the party used approvals of earlier transactions to take assets of
// owners who did nothing here and have nothing for it, and split them. A subscription
// charges one asset of each owner, and a payroll pays many from one.
func (l *inspection) splitTakings() (out []match) {
	if l.PublishedCall(0) && l.f.Entry == (common.Address{}) {
		return nil
	}
	var list []victim
	seen := map[common.Address]bool{}
	for i, x := range l.f.Tree.Frames {
		owner, takes := l.takesOf(i, x)
		if !takes || seen[owner] || len(list) == maxDrained {
			continue
		}
		seen[owner] = true
		if lost := l.f.Stripped(owner); lost != nil && !l.f.HasSigned(owner) {
			v := victim{owner: owner, lost: lost, frames: []int{i}}
			if l.follow(&v); len(v.takers) > 0 {
				list = append(list, v)
			}
		}
	}
	takers, splits := map[common.Address]bool{}, 0
	for i := range list {
		if list[i].split {
			splits++
		}
		for _, t := range list[i].takers {
			takers[t] = true
		}
	}
	if len(takers) > maxTakers { // who takes for himself has few accounts
		return nil
	}
	for i := range list {
		switch v := &list[i]; {
		case v.split && len(v.lost) > 1:
			out = l.addDrain(out, v, true)
		case v.split && splits > 1, len(v.lost) > 2:
			out = l.addDrain(out, v, false)
		}
	}
	return out
}

// takesOf is the owner of whose tokens a frame takes some by the right of the cluster, where
// the owner ran no code.
func (l *inspection) takesOf(i int, x *trace.Frame) (owner common.Address, ok bool) {
	owner, _, ok = l.taking(i, x)
	return owner, ok && l.f.Member(x.From) && !l.ownBusiness(owner) && !l.f.RanCode(owner)
}

// taking reads a call that takes tokens of an owner by a right of the caller.
func (l *inspection) taking(i int, x *trace.Frame) (owner, token common.Address, ok bool) {
	if x.Kind != trace.Call || !l.f.Live(i) || len(x.Input) < 4+3*32 || x.From == facts.Permit2 {
		return owner, token, false
	}
	args := x.Input[4:]
	switch sel := evmsig.Called(x.Input); {
	case evmsig.TakingFunctions[sel]:
		token = x.To
	case x.To != facts.Permit2 || sel != evmsig.SelPermit2TransferFrom:
		return owner, token, false
	default:
		if token, ok = evmsig.Address(evmsig.Word(args, 3)); !ok {
			return owner, token, false
		}
	}
	owner, ok = evmsig.Address(evmsig.Word(args, 0))
	return owner, token, ok
}

// promises are the beginnings of names of functions that promise to give something.
var promises = []string{"claim", "airdrop", "getreward", "securityupdate", "redeemreward", "mintreward"}

// paidClaim: the sender paid coin to a function that promises to give something, and got
// nothing; the coin went on to plain accounts at once.
func (l *inspection) paidClaim() []match {
	root, sender := l.f.Tree.Root, l.f.Tx.From
	if root.Kind != trace.Call || root.Value.IsZero() || l.Vouched(root.To) || !l.calledAs(promises) {
		return nil
	}
	for _, p := range l.f.Nets(sender) {
		if p.Amount.Sign() > 0 || p.Key != (facts.Key{}) && p.Amount.Sign() != 0 {
			return nil
		}
	}
	paid := root.Value.ToBig()
	gone := new(big.Int)
	h := match{grade: suspicious, category: api.PhishingApproval, victims: []common.Address{sender}, position: facts.Position{Amount: paid}}
	for i := range l.f.Moves {
		if m := &l.f.Moves[i]; m.From == root.To && m.Key == (facts.Key{}) && m.To != sender && l.plain(m.To) {
			gone.Add(gone, m.Amount)
			h.moves, h.takers = append(h.moves, i), append(h.takers, m.To)
		}
	}
	if exceeds(paid, gone, 105) || len(h.takers) > maxTakers {
		return nil
	}
	return []match{h}
}

// calledAs reports whether the name of the function that the sender called begins with one
// of a list.
func (l *inspection) calledAs(names []string) bool {
	name := strings.ToLower(l.CallName(0))
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) })
}

// maxRevoked is the largest number of approvals that a finding lists for its reader to
// revoke.
const maxRevoked = 20

// revocable are the rights over the assets of owners that were used here or given to the
// side, each once.
func (l *inspection) revocable(owners []common.Address) (out []api.Approval) {
	add := func(owner, token, spender common.Address) {
		x := api.Approval{Owner: api.AddrOf(owner), Token: api.AddrOf(token), Spender: api.AddrOf(spender)}
		if len(out) < maxRevoked && slices.Contains(owners, owner) && spender != owner && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	for i := range l.f.Signed {
		s := &l.f.Signed[i]
		for _, t := range s.Tokens {
			if s.Kind == facts.SignedRight && t != s.Spender && !l.Vouched(s.Spender) {
				add(s.Signer, t, s.Spender)
			}
		}
	}
	for i, x := range l.f.Tree.Frames {
		if owner, token, ok := l.taking(i, x); ok {
			add(owner, token, x.From)
		}
	}
	return out
}

// revoke names the approvals of the first victims, for a sentence.
func (l *inspection) revoke(victims []common.Address) (out verdict.List) {
	seen := map[[2]api.Addr]bool{}
	for _, r := range l.revocable(victims) {
		if key := [2]api.Addr{r.Token, r.Spender}; len(out) < maxListed && !seen[key] {
			seen[key] = true
			out = append(out, verdict.Say(verdict.ApprovalOf, verdict.Symbol(r.Token), verdict.Who(r.Spender)))
		}
	}
	return out
}

// drain is the one line of a drain: whose assets, how, how much, and what to revoke.
func (l *inspection) drain(h *match, form, revoking verdict.Form) verdict.Sentence {
	story := l.describe(h, h.victims)
	var of verdict.Arg = verdict.Who(h.victims[0])
	if n := len(h.victims); n > 1 {
		of = verdict.Say(verdict.AndMoreAccounts, of, verdict.Count{N: n - 1, Of: verdict.OfMoreAccounts})
	}
	var lost verdict.List
	for _, p := range l.drainedOf(h) {
		if len(lost) < maxListed {
			lost = append(lost, l.valued(p))
		}
	}
	if revoke := l.revoke(h.victims); len(revoke) > 0 {
		return verdict.Say(revoking, of, story, lost, revoke)
	}
	return verdict.Say(form, of, story, lost)
}

// drainedOf is what the owners of a drain lost, NFTs included.
func (l *inspection) drainedOf(h *match) (out []facts.Position) {
	sum := map[facts.Key]*big.Int{}
	for _, v := range h.victims {
		for _, p := range l.f.Stripped(v) {
			if sum[p.Key] == nil {
				sum[p.Key] = new(big.Int)
			}
			sum[p.Key].Add(sum[p.Key], p.Amount)
		}
	}
	for _, k := range facts.Order(sum) {
		out = append(out, facts.Position{Key: k, Amount: sum[k]})
	}
	if len(out) == 0 {
		out = []facts.Position{h.position}
	}
	return out
}
