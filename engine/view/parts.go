package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// Names of the parts of a result.
const (
	PartTrace     = "trace"
	PartCalls     = "calls"
	PartEvents    = "events"
	PartTransfers = "transfers"
	PartBalances  = "balances"
	PartAddresses = "addresses"
	PartContracts = "contracts"
	PartSteps     = "steps"
	PartRisks     = "risks"
	PartFindings  = "findings"
	PartDealings  = "dealings"
	PartState     = "state"
	PartDiagram   = "diagram"
	PartTools     = "tools"

	PartNonFindings    = "nonFindings"
	PartSandwich       = "sandwich"
	PartSequence       = "sequence"
	PartIncident       = "incident"
	PartSide           = "side"
	PartGained         = "gained"
	PartLost           = "lost"
	PartProtocols      = "protocols"
	PartRecipients     = "recipients"
	PartAuthorizations = "authorizations"
	PartAnnotations    = "annotations"
	PartLoops          = "loops"
	PartSkills         = "skills"
	PartNotes          = "notes"
	PartRunnerUp       = "runnerUp"
	PartStepTexts      = "stepTexts" // PartSteps has those of the rules, a model may have written others
	PartRiskTexts      = "riskTexts"
)

// Part is one list of a result that can be read page by page.
type Part struct {
	Name string
	Doc  string // what its items are
	source
}

// source is where the items of a part come from.
type source struct {
	// items returns the list, and how many items it has.
	items func(r *api.Result) (n int, at func(i int) any)
	zero  any
}

// Item returns the zero value of an item, for its type.
func (s source) Item() any { return s.zero }

func listed[T any](of func(*api.Result) []T) source {
	items := func(r *api.Result) (int, func(int) any) {
		all := of(r)
		return len(all), func(i int) any { return all[i] }
	}
	return source{items, *new(T)}
}

// Parts lists the parts of a result.
func Parts() []Part { return parts }

var parts = []Part{
	{PartTrace, "call frames and logs in execution order", listed(func(r *api.Result) []api.Node { return r.PrettyTrace })},
	{PartCalls, "call frames in execution order", listed(func(r *api.Result) []api.Node { return nodes(r, false) })},
	{PartEvents, "logs in execution order", listed(func(r *api.Result) []api.Node { return nodes(r, true) })},
	{PartTransfers, "token movements in order", listed(func(r *api.Result) []api.TokenTransfer { return r.TokenTransfers })},
	{PartBalances, "net balance change of each account", listed(func(r *api.Result) []api.BalanceChange { return r.BalanceChanges })},
	{PartAddresses, "addresses with their labels and roles", listed(func(r *api.Result) []api.Address { return r.Addresses })},
	{PartContracts, "contracts with their names", listed(func(r *api.Result) []api.Contract { return r.Contracts })},
	{PartSteps, "steps with their amounts and references", listed(func(r *api.Result) []api.StepDetail { return r.StepsDetail })},
	{PartRisks, "risks with flag and severity", listed(func(r *api.Result) []api.RiskDetail { return r.RisksDetail })},
	{PartStepTexts, "steps as sentences, which a model may have written", listed(func(r *api.Result) []string { return r.Steps })},
	{PartRiskTexts, "risks as sentences, which a model may have written", listed(func(r *api.Result) []string { return r.Risks })},
	{PartFindings, "weaknesses that an exploit used", listed(func(r *api.Result) []api.Finding { return r.Findings })},
	{PartNonFindings, "what was considered and ruled out", listed(func(r *api.Result) []string { return r.NonFindings })},
	{PartSandwich, "trades of a sandwich in the order of the block: front, victims, back, with their hashes", listed(trades)},
	{PartSequence, "which part of a longer sequence the transaction is", listed(func(r *api.Result) []api.Sequence { return one(r.Sequence) })},
	{PartIncident, "what others published of the transaction", listed(func(r *api.Result) []api.KnownIncident { return one(r.KnownIncident) })},
	{PartDealings, "what the sender, and accounts that act for it, gave and took in each call", listed(deals)},
	{PartSide, "accounts that act for the sender", listed(func(r *api.Result) []api.Addr { return orZero(r.Dealings).Side })},
	{PartGained, "gains and losses of the sender and of accounts that act for it", listed(func(r *api.Result) []api.Holding { return orZero(r.Dealings).Gained })},
	{PartLost, "what others have less of and got nothing for, by account", listed(func(r *api.Result) []api.Holding { return orZero(r.Dealings).Lost })},
	{PartProtocols, "other protocols that took part", listed(func(r *api.Result) []string { return r.Protocols })},
	{PartRecipients, "who received a share of the fee", listed(func(r *api.Result) []api.FeeRecipient { return orZero(r.Fee).Recipients })},
	{PartAuthorizations, "EIP-7702 authorizations and what became of them", listed(func(r *api.Result) []api.Authorization { return r.Authorizations })},
	{
		PartState, "balances, nonces, code and storage slots that the transaction changed, before and after",
		listed(func(r *api.Result) []api.StateChange { return r.StateChanges }),
	},
	{PartDiagram, "lines of the Mermaid sequence diagram", listed(func(r *api.Result) []string { return lines(r.MermaidDiagram) })},
	{PartTools, "calls that the analysis made to the outside", listed(func(r *api.Result) []api.ToolCall { return r.ToolCalls })},
	{PartAnnotations, "comments of the agent on call frames", listed(annotations)},
	{PartLoops, "repetitions that the trace leaves out", listed(func(r *api.Result) []api.LoopMarker { return orZero(r.PrettyTraceMeta).Markers })},
	{PartSkills, "playbooks that were used", listed(func(r *api.Result) []string { return r.SkillsUsed })},
	{PartNotes, "mismatches, missing evidence, and why confidence fell", listed(func(r *api.Result) []string { return orZero(r.Provenance).Notes })},
	{PartRunnerUp, "the classification that came second", listed(func(r *api.Result) []string { return text(orZero(r.Provenance).RunnerUp) })},
}

func nodes(r *api.Result, logs bool) (out []api.Node) {
	for i := range r.PrettyTrace {
		if (r.PrettyTrace[i].Type == typeLog) == logs {
			out = append(out, r.PrettyTrace[i])
		}
	}
	return out
}

func deals(r *api.Result) []api.Deal { return orZero(r.Dealings).Deals }

func trades(r *api.Result) []api.SandwichTrade { return orZero(r.Sandwich).Trades }

// annotation is an item of the part of annotations.
type annotation struct {
	Index int    `json:"index"` // Node.Index
	Text  string `json:"text"`
}

func annotations(r *api.Result) (out []annotation) {
	for _, i := range slices.Sorted(maps.Keys(r.TraceAnnotations)) {
		out = append(out, annotation{i, r.TraceAnnotations[i]})
	}
	return out
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// PartNames lists the names of all parts.
func PartNames() []string {
	names := make([]string, len(parts))
	for i := range parts {
		names[i] = parts[i].Name
	}
	return names
}

// FindPart returns the part of a name.
func FindPart(name string) (*Part, bool) {
	for i := range parts {
		if parts[i].Name == name {
			return &parts[i], true
		}
	}
	return nil, false
}

// Query says which items of a part a page has.
type Query struct {
	From     int // position of the first item among those that match
	Limit    int // most items of the page
	MaxBytes int // most bytes of its items, though one item is always there
	// Status, Address and Text choose items: nodes by their status, items that name an
	// address, items that contain a text in any case. Empty: all.
	Status, Address, Text string
	// Data bounds the bytes of calldata, return data and arguments; negative: no bound.
	Data int
}

// Page is some items of a part.
type Page struct {
	Part  string           `json:"part"`
	Total int              `json:"total"` // items of the part
	Match int              `json:"match"` // of them, those that the query chooses
	From  int              `json:"from"`
	Items []jsontext.Value `json:"items"`
	Next  *int             `json:"next"` // from of the next page; null: this is the last
}

// Read returns one page of a part.
func (p *Part) Read(r *api.Result, q Query) (*Page, error) {
	n, at := p.items(r)
	page := &Page{Part: p.Name, Total: n, From: q.From, Items: []jsontext.Value{}}
	size, full := 0, false
	for i := range n {
		item := at(i)
		if !q.choosesNode(item) {
			continue
		}
		wanted := page.Match >= q.From && !full
		if !wanted && q.Address == "" && q.Text == "" {
			page.Match++
			continue
		}
		doc, err := json.Marshal(item, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		if !q.choosesText(doc) {
			continue
		}
		page.Match++
		if !wanted {
			continue
		}
		if doc, err = q.compacted(item, doc); err != nil {
			return nil, err
		}
		if len(page.Items) > 0 && (len(page.Items) >= q.Limit || size+len(doc) > q.MaxBytes) {
			full = true
			page.Next = new(q.From + len(page.Items))
			continue
		}
		page.Items, size = append(page.Items, doc), size+len(doc)
	}
	return page, nil
}

func (q *Query) compacted(item any, doc []byte) ([]byte, error) {
	node, ok := item.(api.Node)
	if !ok || q.Data < 0 {
		return doc, nil
	}
	return json.Marshal(Compact(node, q.Data), jsontext.AllowInvalidUTF8(true))
}

func (q *Query) choosesNode(item any) bool {
	node, ok := item.(api.Node)
	return q.Status == "" || ok && string(node.Status) == q.Status
}

func (q *Query) choosesText(doc []byte) bool {
	text := strings.ToLower(string(doc))
	return strings.Contains(text, strings.ToLower(q.Address)) && strings.Contains(text, strings.ToLower(q.Text))
}
