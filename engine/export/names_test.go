package export_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/decode"
	"txlens/engine/label"
	"txlens/testkit/fixture"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// printed are the names that one output prints, by what they read as: letters of either case
// are one.
type printed struct {
	t     *testing.T
	where string
	whose map[string]api.Addr
}

func newPrinted(t *testing.T, hash, where string) *printed {
	return &printed{t, hash + ", " + where, map[string]api.Addr{}}
}

// add notes a name and expects that no other address has it.
func (p *printed) add(a api.Addr, name string) {
	p.t.Helper()
	if name == "" {
		return
	}
	key := strings.ToLower(name)
	if other, ok := p.whose[key]; ok && other != a {
		p.t.Errorf("%s: %s and %s are both %s", p.where, other, a, name)
	}
	p.whose[key] = a
}

var (
	participant = regexp.MustCompile(`(?m)^    participant (P\d+) as (.*)$`)
	addressed   = regexp.MustCompile(` \(0x[0-9a-fA-F]{4}…[0-9a-fA-F]+\)$`)
)

// vouched checks that a name out of quotes is what the tables say of this very address, or what
// the program says of an imitation.
func vouched(t *testing.T, c *assemble.Analysis, a api.Addr, name, where string) {
	t.Helper()
	plain := addressed.ReplaceAllString(name, "")
	if plain == "" || strings.HasPrefix(plain, `"`) || strings.HasPrefix(plain, "imitation of ") || strings.HasPrefix(plain, "0x") {
		return
	}
	at := common.Address(a)
	l, _ := label.Lookup(c.Evidence.Chain.ID, at)
	known := []string{l.Name, c.Words.LabelOf(at).Name, c.Evidence.Tokens[at].Symbol + " token", strings.TrimSuffix(l.Name, " token") + " pool"}
	if tok := c.Evidence.Tokens[at]; tok.Own() {
		known[2] = "" // it stands in quotes
	}
	for _, k := range append(known, strings.TrimSuffix(known[2], " token")+" pool") {
		if k, plain := lettersOf(k), lettersOf(plain); k == plain || len(plain) > 20 && strings.HasPrefix(k, plain) {
			return
		}
	}
	t.Errorf("%s, %s: %s is called %s; the tables have %q", c.Result.TxHash, where, a, name, known)
}

// lettersOf are the letters and digits of a name: sentences leave some of the rest out, and cut long
// names.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// distinct checks the names in a result: no two addresses have one, and what stands without
// quotes is what the tables say of the address.
func distinct(t *testing.T, c *assemble.Analysis) {
	t.Helper()
	r := c.Result
	roles := map[api.Addr]string{}
	book := newPrinted(t, r.TxHash, "addresses")
	sentence := newPrinted(t, r.TxHash, "sentences")
	for _, a := range r.Addresses {
		roles[a.Address] = a.Role
		book.add(a.Address, a.Label)
		vouched(t, c, a.Address, a.Label, "addresses")
		name := c.Words.Who(common.Address(a.Address))
		sentence.add(a.Address, name)
		if a.Address != (api.Addr{}) {
			vouched(t, c, a.Address, name, "sentences")
		}
	}
	// What has no label is called by its role in tables, where the address stands beside it.
	named := func(a api.Addr, label string) {
		if label != roles[a] {
			book.add(a, label)
		}
	}
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		named(n.From, n.FromLabel)
		if n.To != nil {
			named(*n.To, n.ToLabel)
		}
	}
	for _, b := range r.BalanceChanges {
		named(b.Address, b.Label)
	}
	titles := newPrinted(t, r.TxHash, "diagram")
	for i, m := range participant.FindAllStringSubmatch(r.MermaidDiagram, -1) {
		titles.add(api.Addr{byte(i)}, m[2])
	}
	coins(t, c)
}

// coins checks that no two tokens have one symbol in sentences. A contract that is another face of
// the native coin is the coin.
func coins(t *testing.T, c *assemble.Analysis) {
	t.Helper()
	native := c.Evidence.Chain.Stack.NativeToken()
	said := newPrinted(t, c.Result.TxHash, "symbols")
	add := func(a api.Addr) {
		if native == nil || a != api.AddrOf(*native) {
			said.add(a, c.Words.Symbol(common.Address(a)))
		}
	}
	for _, x := range c.Result.TokenTransfers {
		add(x.TokenAddress)
	}
	for _, b := range c.Result.BalanceChanges {
		for _, x := range b.Tokens {
			add(x.TokenAddress)
		}
	}
}

// TestDistinctNames: two addresses never have one printed name in a result, and no name of the
// tables is printed for another address.
func TestDistinctNames(t *testing.T) {
	for ev := range recorded.Sample(t) {
		distinct(t, assemble.Build(ev))
	}
	recorded.SampleBenign(t, func(ev *assemble.Evidence) { distinct(t, assemble.Build(ev)) })
	for i, x := range fixture.Exploits(t) {
		if recorded.Sampled(i) {
			distinct(t, assemble.Build(recorded.Exploit(t, &x)))
		}
	}
	for _, id := range fixture.LabelledChains() {
		for i, x := range fixture.LabelledOf(t, id) {
			if recorded.Sampled(i) {
				distinct(t, assemble.Build(recorded.Labelled(t, &x)))
			}
		}
	}
}

// twin is a token beside the one of the hostile names.
var twin = common.HexToAddress("0x3333333333333333333333333333333333330003")

// twins is a transaction that pays with two tokens, which two contracts carry.
func twins(t *testing.T, first, second label.Token) *assemble.Evidence {
	t.Helper()
	ev := evidence(t, "ZORK", "ZORK", "Zork")
	six := uint8(6)
	first.Decimals, second.Decimals = &six, &six
	ev.Tokens = map[common.Address]label.Token{token: first, twin: second}
	more := ev.Receipt.Logs[0]
	more.Address, more.Index = twin, 1
	more.Topics = []common.Hash{more.Topics[0], more.Topics[2], more.Topics[1]}
	ev.Receipt.Logs = append(ev.Receipt.Logs, more)
	return ev
}

// TestSharedSymbols: where two tokens read the same, the address stands beside each amount, in
// sentences, tables and drawings.
func TestSharedSymbols(t *testing.T) {
	f := func(first, second label.Token) {
		t.Helper()
		c := assemble.Build(twins(t, first, second))
		distinct(t, c)
		out := outputs(t, c.Result)
		symbol := api.OneLine(first.Symbol, 12)
		for _, format := range []string{"text", "html", "flow.svg", "sequence.svg", "sequence.mmd"} {
			for _, short := range []string{"(0x3333…3333)", "(0x3333…0003)"} {
				if !strings.Contains(out[format], symbol+" "+short) {
					t.Errorf("%s has no %s %s", format, symbol, short)
				}
			}
		}
	}
	own := func(s string) label.Token { return label.Token{Symbol: s, Name: s, Source: "chain"} }
	listed := func(s string) label.Token { return label.Token{Symbol: s, Name: s, Source: "a list", Listed: true} }
	f(own("ZORK"), own("ZORK"))
	f(listed("ZORK"), listed("ZORK"))
	f(listed("ZORK"), own("ZORK"))
	long := strings.Repeat("ZORK", 6)
	f(listed(long), listed(long))
}

// TestSharedLabels: names that read the same are told apart: by case, by letters that are drawn
// alike, by what stands behind the characters that are printed.
func TestSharedLabels(t *testing.T) {
	f := func(first, second string) {
		t.Helper()
		ev := twins(t, label.Token{Symbol: first, Name: first, Source: "a list", Listed: true}, label.Token{Symbol: second, Name: second, Source: "a list", Listed: true})
		c := assemble.Build(ev)
		distinct(t, c)
		for _, a := range []common.Address{token, twin} {
			for _, name := range []string{c.Words.Who(a), c.Words.Symbol(a)} {
				if !addressed.MatchString(name) {
					t.Errorf("%q and %q: %s is called %s", first, second, a, name)
				}
			}
			for _, x := range c.Result.Addresses {
				if x.Address == api.AddrOf(a) && !addressed.MatchString(x.Label) {
					t.Errorf("%q and %q: %s is labelled %s", first, second, a, x.Label)
				}
			}
		}
	}
	f("ZORK", "ZORK")
	f("ZORK", "zork")
	f("ZORK", "Z\u039fRK")     // a Greek letter
	f("ZORK", "Z\u200bORK")    // a space without width
	f("ZORK", "ZORK*")         // a mark that sentences drop
	f("ZORK A", "ZORK\u00a0A") // another space
	long := strings.Repeat("Zork of the deep ", 4)
	f(long+"one", long+"two")
}

// TestCoinShared: a listed token with the symbol of the native coin has its address beside it.
func TestCoinShared(t *testing.T) {
	f := func(symbol string, want bool) {
		t.Helper()
		tok := label.Token{Symbol: symbol, Name: symbol, Source: "a list", Listed: true}
		other := tok
		other.Symbol, other.Name = "OTHER", "OTHER"
		c := assemble.Build(twins(t, tok, other))
		if got := addressed.MatchString(c.Words.Symbol(token)); got != want {
			t.Errorf("%s is called %s", symbol, c.Words.Symbol(token))
		}
	}
	f("ETH", true)
	f("eth", true)
	f("\u0395TH", true) // a Greek letter
	f("ZORK", false)
}

// TestHostileTwins: two tokens and two contracts that call themselves the same are told apart,
// whatever the name.
func TestHostileTwins(t *testing.T) {
	for _, file := range []string{"symbols.txt", "token_names.txt", "contract_names.txt"} {
		for _, row := range hostile(t, file) {
			ev := evidence(t, row[1], row[1], row[1])
			ev = twins(t, ev.Tokens[token], ev.Tokens[token])
			for _, a := range []common.Address{contract, payee} {
				ev.Contracts[a] = &decode.Contract{Address: a, Name: row[1], Source: "sourcify"}
			}
			distinct(t, assemble.Build(ev))
		}
	}
}
