package claim

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"txlens/engine/api"
	"txlens/engine/check"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// class is what a reference contributes to a sentence.
type class uint8

const (
	isName    class = iota // a name, which states nothing about the transaction
	isFact                 // an event or a measured value
	isVerdict              // the result of a check or a flag, rendered as a whole sentence
)

// fact is a resolved reference.
type fact struct {
	class  class
	text   string
	logs   []int // positions in the receipt of the logs that it refers to
	frames []int // indices of the frames that it refers to
}

// kind is a kind of reference.
type kind struct {
	min, max int // arguments
	usage    string
	get      func(*Index, []string, narrate.Words) (fact, Reason)
}

// kinds are all kinds of references. init fills the table, because figureFact refers to it
// through the table of values.
var kinds map[string]kind

func init() {
	kinds = map[string]kind{
		"amount":   {1, 4, "amount:VALUE", (*Index).amountFact},
		"usd":      {1, 4, "usd:VALUE", (*Index).usdFact},
		"number":   {1, 4, "number:VALUE", (*Index).numberFact},
		"figure":   {1, 1, "figure:N.UNIT", (*Index).figureFact},
		"price":    {1, 1, "price:TOKEN", (*Index).priceFact},
		"count":    {1, 2, "count:THING", (*Index).countFact},
		"tool":     {2, 2, "tool:N:MEMBER", (*Index).toolFact},
		"call":     {1, 1, "call:FRAME", (*Index).callFact},
		"function": {1, 1, "function:FRAME", (*Index).functionFact},
		"frame":    {1, 1, "frame:FRAME", (*Index).frameFact},
		"reason":   {1, 1, "reason:FRAME", (*Index).reasonFact},
		"log":      {1, 1, "log:INDEX", (*Index).logFact},
		"event":    {1, 1, "event:INDEX", (*Index).eventFact},
		"slot":     {2, 2, "slot:ADDRESS:SLOT", (*Index).slotFact},
		"selector": {1, 1, "selector:SELECTOR", (*Index).selectorFact},
		"block":    {0, 0, "block", (*Index).blockFact},
		"time":     {0, 0, "time", (*Index).timeFact},
		"gas":      {0, 0, "gas", (*Index).gasFact},
		"address":  {1, 1, "address:ADDRESS", (*Index).addressFact},
		"token":    {1, 1, "token:TOKEN", (*Index).tokenFact},
		"protocol": {1, 1, "protocol:SLUG", (*Index).protocolFact},
		"chain":    {0, 0, "chain", (*Index).chainFact},
		"check":    {1, 1, "check:NAME", (*Index).checkFact},
		"flag":     {1, 1, "flag:NAME", (*Index).flagFact},
	}
}

// Usages returns the syntax of all kinds of references, sorted.
func Usages() (out []string) {
	for _, k := range kinds {
		out = append(out, "{"+k.usage+"}")
	}
	slices.Sort(out)
	return out
}

// resolve renders a reference, or returns the reason why it is dropped.
func (ix *Index) resolve(r *textReference, full bool) (fact, Reason) {
	k, ok := kinds[r.kind]
	switch {
	case !ok:
		return fact{}, UnknownKind
	case len(r.args) < k.min || len(r.args) > k.max:
		return fact{}, Malformed
	case ix.c.Evidence.Tx == nil:
		return fact{}, Unresolved // there are no names
	}
	words := ix.c.Words
	if full {
		words = ix.fullWords()
	}
	return k.get(ix, r.args, words)
}

func (ix *Index) fullWords() narrate.Words {
	if ix.unabridged == nil {
		w := ix.c.Words.InFull()
		ix.unabridged = &w
	}
	return *ix.unabridged
}

// named makes a fact of a text; an empty text is unresolved.
func named(c class, text string) (fact, Reason) {
	if text == "" {
		return fact{}, Unresolved
	}
	return fact{class: c, text: text}, Accepted
}

// inText computes the value that a reference of a text names, with the places that it was
// read from.
func (ix *Index) inText(args []string) (v value, out fact, why Reason) {
	r, why := ix.valueReference(args)
	if why != Accepted {
		return v, out, why
	}
	v, err := ix.refer(r)
	if err != nil {
		return v, out, Unresolved
	}
	out.class = isFact
	for i, form := range references[r.name].args {
		switch form {
		case argFrame:
			out.frames = append(out.frames, ix.frames[r.args[i]].Index)
		case argLog:
			n, _ := ix.logIndex(r.args[i])
			out.logs = append(out.logs, ix.logs[n])
		}
	}
	return v, out, Accepted
}

func (ix *Index) amountFact(args []string, w narrate.Words) (fact, Reason) {
	v, out, why := ix.inText(args)
	switch {
	case why != Accepted:
		return out, why
	case v.token == nil || ix.byID[*v.token] && len(v.units) == 0:
		return out, WrongUnit
	case v.n.Sign() == 0 && len(v.units) == 0:
		return out, Unresolved // nothing moved
	}
	out.text = w.Amount(flow.TokenKey{Token: *v.token}, v.n)
	if len(v.units) > 0 {
		if len(v.units) > maxUnits {
			return out, WrongUnit
		}
		var parts []string
		for _, u := range v.units {
			parts = append(parts, w.Amount(u.key, u.n))
		}
		out.text = strings.Join(parts, ", ")
	}
	return out, Accepted
}

// maxUnits bounds the token ids of one log that a reference renders.
const maxUnits = 4

func (ix *Index) usdFact(args []string, _ narrate.Words) (fact, Reason) {
	v, out, why := ix.inText(args)
	if why != Accepted {
		return out, why
	}
	out.text, why = ix.dollars(v.token, v.n)
	return out, why
}

// dollars renders the value of an amount of a token.
func (ix *Index) dollars(token *common.Address, n *big.Int) (string, Reason) {
	if token == nil || ix.byID[*token] {
		return "", WrongUnit
	}
	scale, known := ix.decimals(*token)
	p, priced := ix.c.Evidence.Prices[*token]
	if !known || !priced || n.Sign() == 0 {
		return "", Unresolved
	}
	return dollarText(flow.Value(new(big.Int).Abs(n), uint8(scale), p.USD)), Accepted
}

// dollarText formats a value to the cent; a value below one cent gets two significant
// digits.
func dollarText(d api.Decimal) string {
	scale := 2
	for below := (api.Decimal{Unscaled: big.NewInt(1), Scale: 2}); compare(d, below) < 0 && scale < 18; below.Scale++ {
		scale = below.Scale + 2
	}
	return "$" + api.Thousands(d.Round(scale).String())
}

// decimals returns the decimals of a token, false if unknown.
func (ix *Index) decimals(token common.Address) (int, bool) {
	if token == (common.Address{}) {
		return ix.c.Evidence.Chain.Native.Decimals, true
	}
	if t, ok := ix.c.Evidence.Tokens[token]; ok && t.Decimals != nil {
		return int(*t.Decimals), true
	}
	return 0, false
}

func (ix *Index) numberFact(args []string, _ narrate.Words) (fact, Reason) {
	v, out, why := ix.inText(args)
	switch {
	case why != Accepted:
		return out, why
	case v.token != nil:
		return out, WrongUnit
	}
	out.text = api.Thousands(v.n.String())
	return out, Accepted
}

func (ix *Index) priceFact(args []string, _ narrate.Words) (fact, Reason) {
	token, why := ix.tokenOf(args[0])
	if why != Accepted {
		return fact{}, why
	}
	p, ok := ix.c.Evidence.Prices[token]
	if !ok || p.USD.Unscaled == nil || p.USD.Unscaled.Sign() <= 0 {
		return fact{}, Unresolved
	}
	return named(isFact, dollarText(p.USD))
}

func (ix *Index) frameOfText(path string) (*trace.Frame, fact, Reason) {
	f := ix.frames[path]
	if f == nil {
		return nil, fact{}, Unresolved
	}
	return f, fact{class: isFact, frames: []int{f.Index}}, Accepted
}

func (ix *Index) callFact(args []string, w narrate.Words) (fact, Reason) {
	f, out, why := ix.frameOfText(args[0])
	if why == Accepted {
		out.text = w.Callee(f.Index)
	}
	return out, why
}

func (ix *Index) functionFact(args []string, w narrate.Words) (fact, Reason) {
	_, out, why := ix.frameOfText(args[0])
	if why != Accepted {
		return out, why
	}
	if out.text = w.Foreign(ix.nodeAt[args[0]].FunctionName); out.text == "" {
		out.text = ix.nodeAt[args[0]].Selector
	}
	if out.text == "" {
		return out, Unresolved
	}
	return out, Accepted
}

func (ix *Index) frameFact(args []string, _ narrate.Words) (fact, Reason) {
	_, out, why := ix.frameOfText(args[0])
	out.text = "frame " + args[0]
	return out, why
}

// reasonFact renders why a frame failed. A frame that succeeded has no reason.
func (ix *Index) reasonFact(args []string, w narrate.Words) (fact, Reason) {
	f, out, why := ix.frameOfText(args[0])
	switch {
	case why != Accepted:
		return out, why
	case f.Err == "":
		return out, Unresolved
	}
	out.text = w.Reason(f.Index)
	return out, Accepted
}

func (ix *Index) logFact(args []string, _ narrate.Words) (fact, Reason) {
	n, err := ix.logIndex(args[0])
	if err != nil {
		return fact{}, Unresolved
	}
	return fact{class: isFact, text: "log " + strconv.FormatUint(n, 10), logs: []int{ix.logs[n]}}, Accepted
}

func (ix *Index) eventFact(args []string, w narrate.Words) (fact, Reason) {
	n, err := ix.logIndex(args[0])
	if err != nil {
		return fact{}, Unresolved
	}
	at := ix.logs[n]
	e := ix.c.Decoded.Events[at]
	if e == nil || w.Foreign(e.Name) == "" {
		return fact{}, Unresolved
	}
	return fact{class: isFact, text: w.Foreign(e.Name), logs: []int{at}}, Accepted
}

func (ix *Index) slotFact(args []string, _ narrate.Words) (fact, Reason) {
	a, why := ix.addressOf(args[0])
	if why != Accepted {
		return fact{}, why
	}
	n, err := integerLiteral(args[1])
	if err != nil || !ix.hasSlot(a, args[1]) {
		return fact{}, Unresolved
	}
	return named(isFact, "slot "+narrate.Slot(common.BigToHash(n)))
}

func (ix *Index) selectorFact(args []string, _ narrate.Words) (fact, Reason) {
	s := strings.ToLower(args[0])
	if !ix.selectors[s] {
		return fact{}, Unresolved
	}
	return named(isFact, s)
}

func (ix *Index) blockFact([]string, narrate.Words) (fact, Reason) {
	if ix.r.TxMeta.BlockNumber == 0 {
		return fact{}, Unresolved
	}
	return named(isFact, "block "+api.Thousands(strconv.FormatUint(ix.r.TxMeta.BlockNumber, 10)))
}

func (ix *Index) timeFact([]string, narrate.Words) (fact, Reason) {
	unix := ix.r.TxMeta.BlockTimestamp
	if unix == 0 || unix > maxTime {
		return fact{}, Unresolved
	}
	return named(isFact, time.Unix(int64(unix), 0).UTC().Format("2006-01-02 15:04:05 UTC"))
}

// maxTime is the last second of the year 9999.
const maxTime = 253402300799

func (ix *Index) gasFact([]string, narrate.Words) (fact, Reason) {
	if ix.r.TxMeta.GasUsed == 0 {
		return fact{}, Unresolved
	}
	return named(isFact, api.Thousands(strconv.FormatUint(ix.r.TxMeta.GasUsed, 10))+" gas")
}

func (ix *Index) addressFact(args []string, w narrate.Words) (fact, Reason) {
	a, why := ix.addressOf(args[0])
	if why != Accepted {
		return fact{}, why
	}
	return named(isName, w.Who(common.Address(a)))
}

func (ix *Index) tokenFact(args []string, w narrate.Words) (fact, Reason) {
	a, why := ix.tokenOf(args[0])
	if why != Accepted {
		return fact{}, why
	}
	return named(isName, w.Symbol(a))
}

// protocolFact names a protocol that the rules or a label of our tables found.
func (ix *Index) protocolFact(args []string, w narrate.Words) (fact, Reason) {
	slug := args[0]
	if p := ix.r.Protocol; (p == nil || *p != slug) && !ix.knownProtocol(slug) {
		return fact{}, Unresolved
	}
	return named(isName, w.Protocol(slug))
}

func (ix *Index) chainFact([]string, narrate.Words) (fact, Reason) {
	return named(isName, ix.r.ChainName)
}

// checkFact renders the result of a check of the rules.
func (ix *Index) checkFact(args []string, w narrate.Words) (fact, Reason) {
	if ix.c.Triage == nil {
		return fact{}, Unresolved
	}
	for _, o := range ix.c.Triage.Outcomes {
		if o.Name == args[0] && o.Listed() {
			return named(isVerdict, narrate.Outcome(w, o.NonFinding()))
		}
	}
	return fact{}, Unresolved
}

// flagFact renders a flag that the rules raised.
func (ix *Index) flagFact(args []string, _ narrate.Words) (fact, Reason) {
	f, ok := verdict.FlagOf(args[0])
	if v := ix.c.Verdict; !ok || v == nil || !verdict.Flagged(v.Risks, f) {
		return fact{}, Unresolved
	}
	return named(isVerdict, narrate.FlagTitle(f))
}

// contradicts reports whether a check of the rules that covers a flag found nothing.
func (ix *Index) contradicts(f verdict.Flag) bool {
	if ix.c.Triage == nil {
		return false
	}
	for _, o := range ix.c.Triage.Outcomes {
		if (o.Result == verdict.Clean || o.Result == verdict.NotApplicable) && flags(o.Check, f) {
			return true
		}
	}
	return false
}

// flags reports whether a check covers a flag.
func flags(c *check.Check, f verdict.Flag) bool {
	for _, g := range c.Flags {
		if f == g {
			return true
		}
	}
	return f.Info().Category != "" && verdict.FlagOfCause(f.Info().Category) == f && c.Contradicted(f.Info().Category)
}
