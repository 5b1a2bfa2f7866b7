package check

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   240,
	Name:    "unearned_gain",
	Title:   "gain that nothing in the transaction pays for",
	Causes:  []api.Category{api.BusinessLogic, api.AccountingError, api.InsufficientValidation, api.GovernanceAttack},
	Flags:   []verdict.Flag{verdict.UnearnedGain},
	Open:    true,
	own:     true,
	flag:    (*inspection).loan,
	find:    (*inspection).outcome,
	ruleOut: (*inspection).checkOutcome,
})

// fired lists the rules that fired, each once.
func (a *attack) fired() (out []Fired) {
	if a == nil {
		return nil
	}
	for i := range a.all {
		h := &a.all[i]
		j := slices.IndexFunc(out, func(o Fired) bool { return o.Rule == h.rule.name })
		switch {
		case j < 0:
			out = append(out, Fired{h.rule.name, h.grade == decisive})
		case h.grade == decisive:
			out[j].Decisive = true
		}
	}
	return out
}

// cause is the match that names the cause: the first that decides alone.
func (a *attack) cause() *match {
	if a == nil {
		return nil
	}
	for i := range a.all {
		if a.all[i].grade == decisive {
			return &a.all[i]
		}
	}
	return nil
}

// outcome is the finding by the outcome, unless another check has shown what broke.
func (l *inspection) outcome() []finding {
	h := l.att.cause()
	if h == nil || slices.ContainsFunc(l.found, func(f verdict.Finding) bool { return exploits(&f) }) {
		return nil
	}
	victims := l.att.victims(h)
	if len(victims) == 0 {
		return nil
	}
	return []finding{l.att.finding(h, victims)}
}

// loan raises the flag of a loan that the movements show and no event tells of.
func (l *inspection) loan() (out []verdict.Risk) {
	a := l.att
	if a == nil {
		return nil
	}
	if len(a.f.Loans) > 0 && !l.flagged(verdict.FlashLoan) {
		out = append(out, risk(verdict.FlashLoan, verdict.Borrowed, verdict.Who(a.f.Loans[0].Lender)))
	}
	return out
}

// takenOver reports whether the sender initialised a contract that was there before, and
// the contract did nothing but keep what it was told. Who made the contract may do so; a
// stranger who does takes it over. Events and storage, where they are known, tell more: see
// the check of changes of control.
func (a *attack) takenOver() bool {
	root := a.f.Tree.Root
	return a.l.Diff == nil && len(a.l.Receipt.Logs) == 0 && strings.HasPrefix(strings.ToLower(a.l.function(0)), "init") &&
		!root.Kind.Creates() &&
		len(root.Input) >= 36 &&
		len(a.f.Moves) == 0 &&
		!slices.ContainsFunc(root.Children, func(x *trace.Frame) bool { return x.Kind != trace.DelegateCall && x.Kind != trace.StaticCall })
}

// unusual says who gained what where rules fire of which none decides, or what else calls
// for a closer look.
func (a *attack) unusual() verdict.Sentence {
	switch {
	case a == nil:
		return verdict.Sentence{}
	case len(a.all) > 0 && a.cause() == nil && a.all[0].rule.owners:
		return a.drain(&a.all[0], verdict.PossibleDrain, verdict.PossibleDrainRevoke)
	case len(a.all) > 0 && a.cause() == nil:
		return verdict.Say(verdict.UnusualGain, a.unexplained())
	case len(a.all) == 0 && a.takenOver():
		return verdict.Say(verdict.PossibleTakeover, a.initialised())
	}
	return verdict.Sentence{}
}

// closer are the flags of what calls for a closer look. They are raised where no finding
// decides.
func (a *attack) closer() []verdict.Risk {
	switch a.unusual().Form {
	case verdict.UnusualGain, verdict.PossibleDrain, verdict.PossibleDrainRevoke:
		return []verdict.Risk{{Flag: verdict.UnearnedGain, Why: a.unexplained()}}
	case verdict.PossibleTakeover:
		return []verdict.Risk{{Flag: verdict.UninitialisedTakeover, Why: a.initialised()}}
	}
	return nil
}

// initialised says what a takeover looks like.
func (a *attack) initialised() verdict.Sentence {
	return verdict.Say(verdict.InitialisedLater, verdict.Who(a.f.Tree.Root.To), verdict.Who(a.f.Tx.From))
}

// unexplained says who gained what, and what the state shows of who lost it.
func (a *attack) unexplained() verdict.Sentence {
	h := &a.all[0]
	s := a.unexplainedGain(h)
	if len(h.victims) > 0 {
		s = h.state.withState(s, h.victims[0])
	}
	return s
}

func (a *attack) unexplainedGain(h *match) verdict.Sentence {
	gains, v := a.gains(h), a.victims(h)
	switch {
	case len(gains) == 0, h.rule.owners:
		return verdict.Say(verdict.MovesUnexplained, a.describe(h, v))
	case h.unclaimed:
		return verdict.Say(verdict.GainUnclaimed, verdict.Who(a.f.Tx.From), gains, verdict.Who(v[0]))
	case len(v) > 0 && a.f.Robbed(v[0]) != nil:
		return verdict.Say(verdict.GainUnearned, verdict.Who(a.f.Tx.From), gains, verdict.Who(v[0]))
	}
	return verdict.Say(verdict.GainUnexplained, verdict.Who(a.f.Tx.From), gains, a.describe(h, v))
}

// gains is what the cluster has more of; what decides, where the ledger shows no gain.
func (a *attack) gains(h *match) (out verdict.List) {
	for _, p := range a.f.Gains {
		if len(out) < maxListed {
			out = append(out, a.valued(p))
		}
	}
	if len(out) == 0 && h.position.Amount != nil && h.position.Key.Token != (common.Address{}) {
		out = append(out, a.valued(h.position))
	}
	return out
}

// maxListed bounds how many amounts a sentence tells.
const maxListed = 3

// valued is an amount with its value where a service gave a price.
func (a *attack) valued(p facts.Position) verdict.Arg {
	n := amount(p.Key, p.Amount)
	if _, priced := a.l.Prices[p.Key.Token]; priced {
		if usd := a.l.worth(p.Key, p.Amount); usd != nil && usd.Sign() > 0 {
			return verdict.Say(verdict.WorthAbout, n, verdict.Num(usd))
		}
	}
	return n
}

// victims are those that a match names, or else whoever lost most to the cluster.
func (a *attack) victims(h *match) (out []common.Address) {
	for _, v := range h.victims {
		if !a.f.InAttackerCluster(v) || v == a.f.Entry {
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	var best *facts.LossCandidate
	for i := range a.f.LossCandidates {
		l := &a.f.LossCandidates[i]
		if best == nil || l.Direct && !best.Direct || a.l.worthMore(a.largest(l.Lost), a.largest(best.Lost)) {
			best = l
		}
	}
	switch {
	case best != nil:
		return []common.Address{best.Address}
	case h.faulty != (common.Address{}) && !a.f.InAttackerCluster(h.faulty):
		return []common.Address{h.faulty}
	}
	return a.payer()
}

// payer is the account outside that has less of the first asset that the cluster gained.
func (a *attack) payer() []common.Address {
	for _, g := range a.f.Gains {
		var who common.Address
		most := new(big.Int)
		for i := range a.f.Moves {
			m := &a.f.Moves[i]
			if n := a.f.Net(m.From, m.Key); m.Key == g.Key && !a.f.InAttackerCluster(m.From) && a.f.RanCode(m.From) && n.Cmp(most) < 0 {
				who, most = m.From, n
			}
		}
		if most.Sign() < 0 {
			return []common.Address{who}
		}
	}
	return nil
}

// finding makes the finding of a match.
func (a *attack) finding(h *match, victims []common.Address) finding {
	l := a.l
	b := broken{category: h.category, victim: victims[0], faulty: h.faulty}
	for _, p := range a.f.Robbed(victims[0]) {
		b.lost = append(b.lost, p.Key)
	}
	story := a.describe(h, victims)
	b.evidence = a.evidence(h, victims[0])
	b.sentence = verdict.Say(verdict.BrokenAt, verdict.Who(victims[0]), story, a.places(h))
	b.check = a.recheck(h, victims[0])
	if b.check == "" {
		b.check = a.recheckMove(h)
	}
	out := l.find(b)
	f := &out.Facts
	if f.Status == api.Possible || !h.rule.proves { // the outcome is shown, the cause follows from structure
		f.Status, f.Confidence = api.Probable, f.Confidence.Lower(api.Medium)
	}
	if f.Confidence != api.High && len(out.Missing) == 0 {
		out.Missing = append(out.Missing, verdict.Say(verdict.MissingClaims, verdict.Who(victims[0])))
	}
	f.Victim = nil
	for _, v := range victims {
		f.Victim = append(f.Victim, api.AddrOf(v))
	}
	f.Attacker = a.attackers(victims, h.faulty, h.takers)
	f.Severity, f.Amplifiers = a.severity(h, victims), a.amplifiers()
	if e := a.entryPoint(h); e != (common.Address{}) {
		x := api.AddrOf(e)
		f.EntryPoint = &x
	}
	f.Revoke = a.revocable(victims)
	f.Code = a.code(victims[0], h.faulty, a.entryPoint(h))
	for _, p := range a.f.Gains {
		out.Gained = append(out.Gained, amount(p.Key, p.Amount))
	}
	lost := a.lost(victims)
	if h.rule.owners {
		lost = a.drainedOf(h)
	}
	for _, p := range lost {
		out.Lost = append(out.Lost, amount(p.Key, p.Amount))
	}
	if out.Headline = a.headline(h, victims, story); h.rule.owners {
		out.Headline = a.drain(h, verdict.DrainOf, verdict.DrainOfRevoke)
	}
	return out
}

// headline is the one line: whose loss, by what, how much, and who gained.
func (a *attack) headline(h *match, victims []common.Address, story verdict.Sentence) verdict.Sentence {
	of := verdict.Who(victims[0])
	if h.rule.blamesFaulty && h.faulty != (common.Address{}) {
		of = verdict.Who(h.faulty)
	}
	if len(a.f.Loans) > 0 && !tellsLoan[story.Form] {
		story = verdict.Say(verdict.WithLoan, story)
	}
	var lost, gained verdict.List
	if len(victims) == 1 && common.Address(of) == victims[0] {
		for _, p := range a.lost(victims) {
			if len(lost) < maxListed {
				lost = append(lost, a.valued(p))
			}
		}
	}
	for _, p := range a.f.Gains {
		if len(gained) < maxListed {
			gained = append(gained, a.valued(p))
		}
	}
	who := verdict.Who(a.f.Tx.From)
	switch {
	case len(lost) > 0 && len(gained) > 0:
		return verdict.Say(verdict.ExploitWithBoth, of, story, lost, who, gained)
	case len(lost) > 0:
		return verdict.Say(verdict.ExploitWithLoss, of, story, lost)
	case len(gained) > 0:
		return verdict.Say(verdict.ExploitWithGain, of, story, who, gained)
	}
	return verdict.Say(verdict.ExploitOf, of, story)
}

// tellsLoan are the sentences that tell of the loan themselves.
var tellsLoan = map[verdict.Form]bool{
	verdict.CauseAbandonedLoan: true, verdict.CauseBorrowedVotes: true, verdict.CauseRoundTripBetween: true, verdict.CauseClones: true,
}

// lost is what the victims have less of, with nothing for it.
func (a *attack) lost(victims []common.Address) []facts.Position {
	sum := map[facts.Key]*big.Int{}
	for _, v := range victims {
		for _, p := range a.f.Nets(v) {
			k, n := p.Key, p.Amount
			if n.Sign() < 0 && facts.Fungible(k) && a.f.Counts(k) && k.Token != v {
				if sum[k] == nil {
					sum[k] = new(big.Int)
				}
				sum[k].Sub(sum[k], n)
			}
		}
	}
	var out []facts.Position
	for _, k := range facts.Order(sum) {
		out = append(out, facts.Position{Key: k, Amount: sum[k]})
	}
	return out
}

// severity: theft is a limited loss at least; the greater of what the victims lost and what
// the cluster gained tells the rest.
func (a *attack) severity(h *match, victims []common.Address) api.Severity {
	best := api.SeverityMedium
	for _, list := range [][]facts.Position{a.lost(victims), a.f.Gains} {
		sum := new(big.Int)
		for _, p := range list {
			if usd := a.l.worth(p.Key, p.Amount); usd != nil {
				sum.Add(sum, usd)
			}
		}
		for i, n := range inUSD {
			if sum.Cmp(big.NewInt(n)) >= 0 && ranks[i].Rank() > best.Rank() {
				best = ranks[i]
			}
		}
	}
	return best
}

// amplifiers are what made it larger or easier.
func (a *attack) amplifiers() (out []api.Amplifier) {
	if len(a.f.Loans) > 0 || a.l.flagged(verdict.FlashLoan) {
		out = append(out, api.FlashLoan)
	}
	if len(a.f.Fresh) > 0 {
		out = append(out, "fresh_contract")
	}
	if a.f.Tree.Root.Kind.Creates() {
		out = append(out, "constructor_attack")
	}
	if slices.ContainsFunc(a.f.Tree.Frames, func(x *trace.Frame) bool {
		return x.Kind == trace.SelfDestruct && x.Status == trace.OK && a.f.Tool(x.From)
	}) {
		out = append(out, "self_destruct")
	}
	if a.l.flagged(verdict.CoinbasePayment) {
		out = append(out, verdict.CoinbasePayment.Info().Amplifier)
	}
	return out
}

// attackers are the cluster, without who is accused of the broken rule.
func (a *attack) attackers(victims []common.Address, faulty common.Address, takers []common.Address) (out []api.Addr) {
	for _, list := range [][]common.Address{{a.f.Tx.From}, a.f.Tools, takers, a.f.ProfitReceivers} {
		for _, m := range list {
			if len(out) < 8 && m != faulty && !slices.Contains(victims, m) && !slices.Contains(out, api.AddrOf(m)) {
				out = append(out, api.AddrOf(m))
			}
		}
	}
	return out
}

// entryPoint is what the party called where it was decided: a protocol rather than a pool
// or a token.
func (a *attack) entryPoint(h *match) common.Address {
	for _, d := range h.calls {
		if d >= 0 && a.custom(d) {
			return a.f.ExternalCalls[d].Target
		}
	}
	for _, i := range h.frames {
		x := a.frame(i)
		to := x.To
		if to == ecrecover && x.Parent != nil { // a signature is brought to whoever has it checked
			to = a.f.Context[x.Parent.Index]
		}
		if !a.f.Member(to) || x.Parent == nil {
			return to
		}
	}
	if len(h.calls) == 1 && !a.token(a.f.ExternalCalls[h.calls[0]].Target) {
		return a.f.ExternalCalls[h.calls[0]].Target
	}
	for i := range a.f.ExternalCalls {
		if a.custom(i) && a.f.End[a.f.ExternalCalls[i].Frame]-a.f.ExternalCalls[i].Frame > 1 {
			return a.f.ExternalCalls[i].Target
		}
	}
	for _, d := range h.calls {
		return a.f.ExternalCalls[d].Target
	}
	return h.faulty
}

// code are the contracts whose code ran on behalf of others.
func (a *attack) code(of ...common.Address) (out []api.Addr) {
	for i, x := range a.f.Tree.Frames {
		if x.Kind == trace.DelegateCall && a.f.Live(i) && len(out) < 8 && slices.Contains(of, x.From) && !slices.Contains(out, api.AddrOf(x.To)) {
			out = append(out, api.AddrOf(x.To))
		}
	}
	return out
}

// evidence lists the external calls that decide, the frames, and what the victim paid.
func (a *attack) evidence(h *match, victim common.Address) (out []verdict.Evidence) {
	for _, d := range h.calls {
		if d >= 0 && len(out) < 3 {
			out = append(out, a.dealt(d))
		}
	}
	for _, i := range h.frames {
		x := a.frame(i)
		if len(out) < 6 && x.HasTo {
			out = append(out, a.l.seen(x, verdict.FrameRuns, verdict.Who(x.From), verdict.Who(x.To)))
		}
	}
	moves := h.moves
	if len(moves) == 0 {
		moves = a.paidBy(victim)
	}
	for i, m := range moves {
		if i < 3 {
			out = append(out, a.moved(&a.f.Moves[m]))
		}
	}
	if len(out) == 0 {
		out = append(out, a.l.seen(a.f.Tree.Root, verdict.FrameRuns, verdict.Who(a.f.Tx.From), verdict.Who(a.f.Tree.Root.To)))
	}
	return out
}

func (a *attack) dealt(d int) verdict.Evidence {
	x := a.callFrame(d)
	from, to := verdict.Who(x.From), verdict.Who(x.To)
	given, taken := a.listed(a.f.Given(d)), a.listed(a.f.Taken(d))
	switch {
	case len(given) > 0 && len(taken) > 0:
		return a.l.seen(x, verdict.DealGivesTakes, from, to, given, taken)
	case len(given) > 0:
		return a.l.seen(x, verdict.DealGives, from, to, given)
	case len(taken) > 0:
		return a.l.seen(x, verdict.DealTakes, from, to, taken)
	}
	return a.l.seen(x, verdict.DealCalls, from, to)
}

func (a *attack) listed(list []facts.Position) (out verdict.List) {
	for _, p := range list {
		if len(out) < maxListed {
			out = append(out, amount(p.Key, p.Amount))
		}
	}
	return out
}

// moved is the evidence of one movement.
func (a *attack) moved(m *facts.Move) verdict.Evidence {
	return a.l.paid(m, verdict.PaysSide, verdict.Who(m.From), amountOf(m), verdict.Who(m.To))
}

// places are the paths of the frames that decide.
func (a *attack) places(h *match) (out verdict.List) {
	for _, d := range h.calls {
		if d >= 0 && len(out) < 4 {
			out = append(out, a.l.at(a.callFrame(d)))
		}
	}
	for _, i := range h.frames {
		if len(out) < 4 {
			out = append(out, a.l.at(a.frame(i)))
		}
	}
	if len(out) == 0 {
		out = append(out, a.l.at(a.f.Tree.Root))
	}
	return out
}

// recheck is what an evaluator may compute again: the victim has less of what it lost.
func (a *attack) recheck(h *match, victim common.Address) string {
	var parts []string
	for _, p := range a.lost([]common.Address{victim}) {
		if len(parts) < 2 {
			parts = append(parts, a.l.sumOf("net", victim, p.Key)+" < 0")
		}
	}
	return strings.Join(parts, " and ")
}

// recheckMove is that of a movement that decides.
func (a *attack) recheckMove(h *match) string {
	for _, i := range h.moves {
		m := &a.f.Moves[i]
		return ref("sent", m.From, m.Asset()) + " > 0"
	}
	return ""
}

func (l *inspection) checkOutcome() verdict.Outcome {
	switch {
	case l.att == nil || !l.full() && l.usable():
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	case len(l.att.all) > 0:
		return verdict.Outcome{Result: verdict.Found}
	case len(l.att.f.LossCandidates) > 0:
		return ruled(verdict.NotChecked, verdict.WhyGainUnexplained, verdict.Who(l.att.f.LossCandidates[0].Address))
	}
	return ruled(verdict.Clean, verdict.WhyNobodyLost)
}
