package assemble

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/classify"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/incident"
	"txlens/engine/narrate"
	"txlens/engine/report"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Analysis is one transaction with everything that the rules derived from it, for the model and
// its tools. Nothing in it but Result may be changed.
type Analysis struct {
	Evidence *Evidence
	Result   *api.Result
	Unmarked string // the summary of Result without the prefix of partial results

	// What follows is nil where Evidence.Tx is.
	Receipt       *ethrpc.Receipt // empty when the node gave none
	Tree          *trace.Tree     // built from the receipt if there was no trace
	Flow          *flow.Flow
	Decoded       *decode.Set
	Case          *facts.Case
	Verdict       *classify.Verdict
	Triage        *check.Report
	Words         narrate.Words // renders sentences about the checks
	RuleSentences narrate.Text  // sentences of the rules
}

// Result builds the complete result except its costs. It fills every field that the
// evidence allows; with a failed phase it is the partial result of the interface.
func Result(ev *Evidence) *api.Result { return Build(ev).Result }

// Build builds the Result and returns it with what it was derived from.
func Build(ev *Evidence) *Analysis {
	ev = ev.withOwn()
	r := base(ev)
	if ev.Tx == nil {
		receiptAlone(r, ev)
		return finish(&Analysis{Evidence: ev, Result: r})
	}
	b := &builder{ev: ev, r: r}
	b.analyse()
	b.triage()
	b.meta()
	b.name()
	b.trace()
	b.state()
	b.sandwich()
	b.transfers()
	b.changes()
	b.fee()
	b.authorizations()
	b.verdict()
	b.r.Sequence = b.sequence()
	return finish(&Analysis{
		Evidence: ev, Result: r,
		Receipt: b.receipt, Tree: b.tree, Flow: b.flow, Decoded: b.decoded, Case: b.facts, Verdict: b.verdict_, Triage: b.report, Words: b.words, RuleSentences: b.told,
	})
}

// Partial returns the result of a case when a phase after the rules failed.
func Partial(c *Analysis, f Failure) *api.Result {
	r := *c.Result
	p := *r.Provenance
	r.Provenance = &p
	r.AnalysisModel, r.Confidence = api.ModelPartial, api.Low
	r.Summary = partialSummary(append(slices.Clone(c.Evidence.Failed), f), c.Unmarked)
	return &r
}

// receiptAlone fills in what a receipt says when the transaction is not available.
func receiptAlone(r *api.Result, ev *Evidence) {
	rc := ev.Receipt
	if rc == nil {
		return
	}
	if rc.Status != nil {
		r.Status = api.StatusReverted
		if *rc.Status == 1 {
			r.Status = api.StatusSuccess
		}
	}
	m := &r.TxMeta
	m.GasUsed, m.GasPrice = rc.GasUsed, hexQuantity(rc.EffectiveGasPrice)
	if rc.From != nil {
		m.From = api.AddrOf(*rc.From)
	}
	if rc.To != nil {
		to := api.AddrOf(*rc.To)
		m.To = &to
	}
	if rc.BlockNumber != nil {
		m.BlockNumber = *rc.BlockNumber
	}
	if ev.Block != nil {
		m.BlockTimestamp = ev.Block.Timestamp
	}
}

func base(ev *Evidence) *api.Result {
	ch := ev.Chain
	if ch == nil {
		ch = &chain.Chain{} // placeholders
	}
	return &api.Result{
		TxHash:        ev.TxHash,
		Chain:         ch.Slug,
		ChainName:     ch.Name,
		ExplorerBase:  ch.Explorer,
		AnalysisModel: api.ModelRules,
		Confidence:    api.Low,
		TxMeta:        api.TxMeta{ValueWei: "0x0", GasPrice: "0x0"},
		Provenance:    &api.Provenance{Version: ev.Version},
	}
}

// finish marks a partial result and draws the diagram, which shows only what is in the
// result.
func finish(c *Analysis) *Analysis {
	r, ev := c.Result, c.Evidence
	r.KnownIncident = known(ev)
	if c.Tree != nil {
		r.MermaidDiagram = report.Mermaid(r)
	}
	r.Provenance.Notes = once(slices.Concat(r.Provenance.Notes, lostNotes(ev.Lost), ev.Notes))
	if c.Unmarked = r.Summary; len(ev.Failed) > 0 {
		r.AnalysisModel = api.ModelPartial
		r.Confidence = api.Low
		r.Summary = partialSummary(ev.Failed, r.Summary)
	}
	return c
}

// published finds a published incident. Tests replace it.
var published = incident.Lookup

// known adds what was published about the transaction, after everything else.
func known(ev *Evidence) *api.KnownIncident {
	if ev.Chain == nil || ev.Tx == nil {
		return nil
	}
	if x, ok := ev.Own.Incident(ev.Chain.ID, ev.Tx.Hash); ok {
		return &api.KnownIncident{Name: x.Name, Date: x.Date, Cause: x.Cause, Loss: x.Loss, Source: x.Source}
	}
	x, ok := published(ev.Chain.ID, ev.Tx.Hash)
	if !ok {
		return nil
	}
	return &api.KnownIncident{Name: x.Name, Date: x.Date, Cause: x.Cause, Loss: x.Loss, Source: incident.Source}
}

// builder is the state shared by the steps of one assembly.
type builder struct {
	ev             *Evidence
	r              *api.Result
	receipt        *ethrpc.Receipt // never nil; empty if the node returned none
	noLogs         bool            // nobody has the logs, or the receipt has none of those that it announces
	tree           *trace.Tree     // never nil
	succeeded      bool
	outcomeKnown   bool // the outcome is known: succeeded says which
	flow           *flow.Flow
	decoded        *decode.Set
	auths          []decode.Authorization
	quotes         map[common.Address]flow.Quote // prices from trades in the transaction itself
	quoteList      []flow.Quote
	quoted         bool // a value in the result is based on one of them
	facts          *facts.Case
	verdict_       *classify.Verdict
	report         *check.Report
	words          narrate.Words
	told           narrate.Text
	names          *names
	nodes          []int                   // frame index to index in prettyTrace
	code           map[common.Address]bool // where code surely ran
	refused        bool                    // the trace contradicts the transaction or its receipt
	doubts         []string                // contradictions within the evidence
	doubtful       []string                // findings that are too weak to make the transaction an exploit
	findingParties map[common.Address]bool // attackers and victims of the findings
}

// analyse runs the pure steps in order: join, flow, decode, classify.
func (b *builder) analyse() {
	ev := b.ev
	b.agree()
	b.succeeded, b.outcomeKnown = b.outcome()
	known := b.readReceipt() // what flow may look at
	b.tree = ev.Tree
	if b.tree == nil || b.refused {
		b.tree = trace.FromReceipt(ev.Tx, b.receipt, b.succeeded || !b.outcomeKnown)
	}
	if known != nil {
		b.tree.JoinLogs(b.receipt)
	}
	b.flow = flow.Compute(
		flow.Input{
			Chain:     ev.Chain,
			Tx:        ev.Tx,
			Receipt:   known,
			Block:     ev.Block,
			Tree:      b.tree,
			Diff:      b.diff(),
			Succeeded: b.succeeded,
			NoLogs:    b.noLogs,
			LogsOnly:  ev.Receipt == nil,
			Token:     b.isToken,
			Divisible: b.isDivisible,
		},
	)
	b.quote()
	dec := decode.New(ev.Chain, decode.Sources{
		Contracts: ev.Contracts, Functions: ev.Functions, Events: ev.Events, Own: ev.Own.Signatures(), Codeless: ev.Codeless,
	})
	b.decoded = dec.All(b.tree, b.receipt)
	b.auths = decode.Authorizations(ev.Tx, ev.Chain.ID, b.diff())
	b.names = newNames(b)
	b.facts = facts.Read(&facts.Input{
		Chain: ev.Chain, Tx: ev.Tx, Receipt: b.receipt, Block: ev.Block, Tree: b.tree, Flow: b.flow, Decoded: b.decoded,
		Labels: b.names.labels, Tokens: ev.Tokens, Contracts: ev.Contracts, Rules: ev.Own.Rules(), Succeeded: b.succeeded && ev.Receipt != nil, Diff: b.diff(), NoLogs: b.noLogs, NoReceipt: ev.Receipt == nil, Neighbours: ev.Neighbours, Codeless: ev.Codeless,
		Authorizations: b.auths,
	})
	b.verdict_, b.words = classify.Classify(b.facts), narrate.NewWords(b.facts)
	b.told = narrate.Describe(b.facts, b.verdict_)
}

// readReceipt sets the receipt or, if the node returned none, the logs of the trace in its
// place. It returns nil if there are no logs at all.
func (b *builder) readReceipt() *ethrpc.Receipt {
	known := b.ev.Receipt
	if known == nil && b.ev.Tree != nil && !b.refused {
		known = b.ev.Tree.LogsAsReceipt()
	}
	b.receipt = known
	if b.ev.Receipt == nil {
		b.receipt = &ethrpc.Receipt{EffectiveGasPrice: b.ev.Tx.GasPrice}
		if known != nil {
			b.receipt.Logs = known.Logs
			known = b.receipt
		}
	}
	b.noLogs = known == nil || len(known.Logs) == 0 && known.LacksLogs()
	return known
}

// isToken reports whether a contract is a known fungible token.
func (b *builder) isToken(a common.Address) bool {
	t, ok := b.ev.Tokens[a]
	return ok && t.Listed
}

// isDivisible reports whether a contract answered decimals() with more than none, as tokens
// with amounts do.
func (b *builder) isDivisible(a common.Address) bool {
	t, ok := b.ev.Tokens[a]
	return ok && t.Decimals != nil && *t.Decimals > 0
}

// outcome uses the receipt first; before Byzantium only the trace knows. known is false if
// neither does.
func (b *builder) outcome() (succeeded, known bool) {
	ev := b.ev
	switch {
	case ev.Receipt != nil && ev.Receipt.Status != nil:
		return *ev.Receipt.Status == 1, true
	case ev.Tree != nil && !b.refused:
		return ev.Tree.Root.Err == "", true
	}
	return false, false
}

func (b *builder) meta() {
	ev, tx := b.ev, b.ev.Tx
	if b.outcomeKnown {
		b.r.Status = api.StatusReverted
		if b.succeeded {
			b.r.Status = api.StatusSuccess
		}
	}
	m := api.TxMeta{
		From:     api.AddrOf(tx.From),
		ValueWei: hexQuantity(tx.Value),
		GasUsed:  b.receipt.GasUsed,
		GasPrice: hexQuantity(gasPrice(b.receipt, tx)),
	}
	if tx.To != nil {
		to := api.AddrOf(*tx.To)
		m.To = &to
	}
	if tx.BlockNumber != nil {
		m.BlockNumber = *tx.BlockNumber
	}
	if tx.Index != nil {
		m.TransactionIndex = *tx.Index
	}
	if ev.Block != nil {
		m.BlockTimestamp = ev.Block.Timestamp
	}
	b.r.TxMeta = m
}

func gasPrice(rc *ethrpc.Receipt, tx *ethrpc.Transaction) *big.Int {
	if rc.EffectiveGasPrice != nil {
		return rc.EffectiveGasPrice
	}
	return tx.GasPrice
}

func hexQuantity(n *big.Int) string {
	if n == nil {
		return "0x0"
	}
	return "0x" + n.Text(16)
}

// verdict writes the conclusions of the rules and the provenance of the result.
func (b *builder) verdict() {
	v, r := b.verdict_, b.r
	r.TxType, r.SubType, r.Protocol = v.TxType, v.SubType, v.Protocol
	for _, slug := range v.Protocols {
		if r.Protocol == nil || *r.Protocol != slug {
			r.Protocols = append(r.Protocols, slug)
		}
	}
	r.Summary, r.Steps, r.Risks = b.told.Summary, append(b.told.Steps, b.bonuses()...), narrate.Risks(b.words, v.Risks)
	r.StepsDetail, r.RisksDetail = b.stepsDetail(), b.risksDetail()
	r.Confidence, r.Attempted = v.Confidence, v.Attempted
	if b.ev.Block == nil {
		r.Confidence = r.Confidence.Lower(api.Medium)
	}
	if len(b.doubts)+len(b.ev.Doubts) > 0 {
		r.Confidence = api.Low
	}
	b.quoted = false // what the balances used does not bear on the action
	r.USDValue = b.primaryUSD()
	if b.quoted && r.USDValue != nil {
		r.Confidence = r.Confidence.Lower(api.Medium)
		v.Reasons = append(v.Reasons, verdict.Say(verdict.PricedByTrade))
	}
	p := r.Provenance
	p.TraceSource = string(b.tree.Source)
	actor := api.AddrOf(v.Actor)
	p.Actor = &actor
	p.RunnerUp = runnerUp(v)
	p.Notes = append(p.Notes, b.doubts...)
	for _, why := range v.Reasons {
		p.Notes = append(p.Notes, narrate.Sentence(b.words, why))
	}
	p.Notes = append(p.Notes, b.doubtful...)
	p.Notes = append(p.Notes, b.tree.Notes...)
	p.Notes = append(p.Notes, b.flow.Notes...)
	p.Notes = append(p.Notes, b.mismatches()...)
	p.Notes = append(p.Notes, b.unbacked()...)
	if n := b.latestTokens(); n > 0 {
		note := "symbol and decimals of " + api.Count(n, "token") +
			" are those of the latest block, because the node keeps no state of the transaction's"
		p.Notes = append(p.Notes, note)
	}
	if b.ev.SourcesOff {
		p.Notes = append(p.Notes, "contract sources, signatures and prices were not asked for")
	}
	b.priceProvenance()
}

// authorizations writes the effect of each EIP-7702 authorization.
func (b *builder) authorizations() {
	for i := range b.auths {
		x := &b.auths[i]
		out := api.Authorization{Delegate: api.AddrOf(x.Delegate), ChainID: "0", Nonce: x.Nonce, Outcome: string(x.Outcome), Reason: x.Why}
		if x.Authority != nil {
			who := api.AddrOf(*x.Authority)
			out.Authority = &who
		}
		if x.ChainID != nil {
			out.ChainID = x.ChainID.String()
		}
		b.r.Authorizations = append(b.r.Authorizations, out)
	}
}

// runnerUp renders the best vote for another type than the chosen one.
func runnerUp(v *classify.Verdict) string {
	if vote := v.RunnerUp(); vote != nil {
		return string(vote.TxType) + ": " + vote.Rule
	}
	return ""
}
