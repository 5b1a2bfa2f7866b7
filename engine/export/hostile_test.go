package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	stdjson "encoding/json"
	"fmt"
	"html"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/export"
	"txlens/engine/label"
	"txlens/engine/report"
	"txlens/engine/trace"
	"txlens/engine/view"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	sender   = common.HexToAddress("0x1111111111111111111111111111111111111111")
	contract = common.HexToAddress("0x2222222222222222222222222222222222222222")
	token    = common.HexToAddress("0x3333333333333333333333333333333333333333")
	payee    = common.HexToAddress("0x4444444444444444444444444444444444444444")
	registry = common.HexToAddress("0x253553366Da8546fC250F225fe3d25d0C782303b") // ETHRegistrarController
)

// hostile are the names of one file, with what must become of each.
func hostile(t *testing.T, file string) (rows [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../label/testdata/hostile/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, quoted, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, err := strconv.Unquote(quoted)
		if !ok || err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		rows = append(rows, [2]string{kind, name})
	}
	return rows
}

// answers is a token that answers symbol() and name().
type answers struct{ symbol, name string }

func (a answers) CallContract(_ context.Context, _ common.Address, data []byte) ([]byte, error) {
	switch [4]byte(data) {
	case evmsig.SelSymbol:
		return abiString(a.symbol), nil
	case evmsig.SelName:
		return abiString(a.name), nil
	}
	return big.NewInt(6).FillBytes(make([]byte, 32)), nil
}

func abiString(s string) []byte {
	out := make([]byte, 64, 64+len(s)+32)
	out[31] = 32
	big.NewInt(int64(len(s))).FillBytes(out[32:64])
	return append(append(out, s...), make([]byte, (32-len(s)%32)%32)...)
}

// evidence is a transaction in which the sender paid one token through a contract.
func evidence(t *testing.T, symbol, name, source string) *assemble.Evidence {
	t.Helper()
	ch, _ := chain.ByID(1)
	ok, number, index := uint64(1), uint64(1_234_567), uint64(7) // before Multicall3
	tokens, err := label.Fetch(context.Background(), answers{symbol, name}, ch, number, []common.Address{token})
	if err != nil {
		t.Fatal(err)
	}
	dollar := assemble.Price{USD: api.Decimal{Unscaled: big.NewInt(1)}, Time: 1_656_000_010, Source: "test"}
	ev := &assemble.Evidence{
		TxHash: "0xaa", Chain: ch, Version: "test",
		Tx: &ethrpc.Transaction{Hash: common.HexToHash("0xaa"), From: sender, To: &contract, Gas: 100_000, GasPrice: big.NewInt(3e9),
			Value: new(big.Int), Input: common.FromHex("0xdeadbeef"), BlockNumber: &number, Index: &index},
		Receipt: &ethrpc.Receipt{Status: &ok, GasUsed: 50_000, EffectiveGasPrice: big.NewInt(3e9), Logs: []ethrpc.Log{{
			Address: token, Data: common.BigToHash(big.NewInt(5_000_000)).Bytes(),
			Topics: []common.Hash{evmsig.TopicTransfer, common.BytesToHash(sender[:]), common.BytesToHash(payee[:])},
		}}},
		Block:     &ethrpc.Block{Number: number, Timestamp: 1_656_000_000, Miner: payee, BaseFee: big.NewInt(2e9), Withdrawals: -1},
		Tokens:    tokens,
		Prices:    map[common.Address]assemble.Price{token: dollar},
		Contracts: map[common.Address]*decode.Contract{contract: {Address: contract, Name: source, Source: "sourcify"}},
	}
	ev.Tree = tree(t, "", nil, "0xdeadbeef")
	return ev
}

func tree(t *testing.T, failure string, output []byte, input string) *trace.Tree {
	t.Helper()
	frames := fmt.Sprintf(`{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","value":"0x0","input":"%s","error":"%s","output":"0x%x"}`,
		sender, contract, input, failure, output)
	tr, err := trace.ParseCallTracer(jsontext.NewDecoder(strings.NewReader(frames)), trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// outputs are all that is written of a result, by format.
func outputs(t *testing.T, r *api.Result) map[string]string {
	t.Helper()
	out := map[string]string{}
	var b bytes.Buffer
	keep := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.String()
		b.Reset()
	}
	keep("text", report.Text(&b, r, report.TextOptions{Width: 120}))
	keep("html", report.HTML(&b, r))
	keep("json", json.MarshalWrite(&b, r))
	keep("mcp", json.MarshalWrite(&b, view.Of(r, api.ViewSummary, "")))
	for _, f := range export.Formats() {
		keep(f.Name(), f.Write(&b, r))
	}
	return out
}

var (
	inQuotes = regexp.MustCompile(`"[^"]*"`)
	diagram  = regexp.MustCompile(`^(sequenceDiagram|    participant P\d+ as [^\n;"<>{}$\\%:]*(?:#\d+;[^\n;"<>{}$\\%:]*)*|` +
		`    (P\d+-{1,2}(>>|x|\))P\d+|Note over P\d+(,P\d+)?): [^\n;"<>{}\\%]*(?:#\d+;[^\n;"<>{}\\%]*)*)$`)
	bytesOfData = regexp.MustCompile(`^Sent \d+ bytes of data to 0x4444…4444$`)
	number      = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
)

// told are the sentences of a result without what stands in quotes.
func told(r *api.Result) string {
	all := append(append([]string{r.Summary}, r.Steps...), r.Risks...)
	for i, s := range all {
		all[i] = inQuotes.ReplaceAllString(s, `""`)
	}
	return strings.Join(all, "\n")
}

// harmless checks what holds of every result: quotes are closed, diagrams are diagrams, and cells
// are no formulas.
func harmless(t *testing.T, name string, r *api.Result, out map[string]string) {
	t.Helper()
	for _, s := range append(append([]string{r.Summary}, r.Steps...), r.Risks...) {
		if strings.Count(s, `"`)%2 != 0 || strings.ContainsAny(s, "\n\r“”„«»＂") {
			t.Errorf("%q: %q", name, s)
		}
	}
	for line := range strings.Lines(out["sequence.mmd"]) {
		if !diagram.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q: %q is no line of a diagram", name, line)
		}
	}
	for format, text := range out {
		if !strings.HasSuffix(format, ".csv") {
			continue
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Errorf("%q: %s: %v", name, format, err)
		}
		for _, cell := range slices.Concat(rows...) {
			for _, part := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(";\t\n\r", r) }) {
				part = strings.TrimSpace(part)
				if part != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(part)[0]) && !number.MatchString(part) {
					t.Errorf("%q: %s has %q", name, format, cell)
				}
			}
		}
	}
}

// TestHostileNames: whatever strangers call themselves, no output imitates a known token
// without saying so, and nothing of a name stands outside of quotes in a sentence.
func TestHostileNames(t *testing.T) {
	n := 0
	plain := assemble.Result(evidence(t, "ZORK", "ZORK", "Zork"))
	nameless := assemble.Result(evidence(t, "", "x", "Zork"))
	f := func(file string, make func(name string) *assemble.Evidence, check func(t *testing.T, kind, name string, r *api.Result, out map[string]string)) {
		t.Run(file, func(t *testing.T) {
			for _, row := range hostile(t, file) {
				n++
				c := assemble.Build(make(row[1]))
				distinct(t, c)
				r := c.Result
				out := outputs(t, r)
				harmless(t, row[1], r, out)
				check(t, row[0], row[1], r, out)
			}
		})
	}
	f("symbols.txt", func(name string) *assemble.Evidence { return evidence(t, name, "ZORK", "Zork") },
		func(t *testing.T, kind, name string, r *api.Result, out map[string]string) {
			t.Helper()
			like, imitates := strings.CutPrefix(kind, "imitates ")
			want := told(plain)
			switch {
			case imitates:
				imitation(t, name, like, r, out)
				return
			case kind == "hidden":
				want = told(nameless)
				hidden(t, name, out)
			}
			if got := told(r); got != want {
				t.Errorf("%s %q:\n%s\nwant\n%s", kind, name, got, want)
			}
		})
	f("token_names.txt", func(name string) *assemble.Evidence { return evidence(t, "ZORK", name, "Zork") },
		func(t *testing.T, _, name string, r *api.Result, _ map[string]string) {
			t.Helper()
			if like := label.Lookalike(1, token, r.TokenTransfers[0].TokenName); told(r) != told(plain) || like != "" {
				t.Errorf("%q: like %q:\n%s", name, like, told(r))
			}
		})
	unnamed := assemble.Result(evidence(t, "ZORK", "ZORK", ""))
	f("contract_names.txt", func(name string) *assemble.Evidence { return evidence(t, "ZORK", "ZORK", name) },
		func(t *testing.T, _, name string, r *api.Result, out map[string]string) {
			t.Helper()
			if got := told(r); got != told(plain) && got != told(unnamed) {
				t.Errorf("%q:\n%s\nwant\n%s", name, got, told(plain))
			}
		})
	failed := func(reason string) *assemble.Evidence {
		ev := evidence(t, "ZORK", "ZORK", "Zork")
		ev.Receipt.Status, ev.Receipt.Logs = new(uint64), nil
		ev.Tree = tree(t, "execution reverted", append(common.FromHex("0x08c379a0"), abiString(reason)...), "0xdeadbeef")
		return ev
	}
	reverted := told(assemble.Result(failed("no")))
	f("reverts.txt", failed, func(t *testing.T, _, name string, r *api.Result, _ map[string]string) {
		t.Helper()
		if got := told(r); got != reverted {
			t.Errorf("%q:\n%s\nwant\n%s", name, got, reverted)
		}
		if e := r.PrettyTrace[0].Error; inQuotes.ReplaceAllString(e, `""`) != `reverted: ""` {
			t.Errorf("%q: the frame failed by %s", name, e)
		}
	})
	note := func(text string) *assemble.Evidence {
		ev := evidence(t, "ZORK", "ZORK", "Zork")
		ev.Receipt.Logs, ev.Tx.Input, ev.Tx.To, ev.Contracts = nil, []byte(text), &payee, nil
		ev.Receipt.GasUsed = 21_000 + 16*uint64(len(text)) // no code ran
		ev.Tree = tree(t, "", nil, fmt.Sprintf("0x%x", text))
		ev.Tree.Root.To = payee
		return ev
	}
	f("memos.txt", note, func(t *testing.T, _, name string, r *api.Result, _ map[string]string) {
		t.Helper()
		if got, _, _ := strings.Cut(told(r), "\n"); got != `Sent the message "" to 0x4444…4444` && !bytesOfData.MatchString(got) {
			t.Errorf("%q: %s", name, r.Summary)
		}
	})
	f("ens.txt", registered(t), func(t *testing.T, _, name string, r *api.Result, _ map[string]string) {
		t.Helper()
		if want := told(assemble.Result(registered(t)("vitalik"))); told(r) != want {
			t.Errorf("%q:\n%s\nwant\n%s", name, told(r), want)
		}
	})
	if n < 400 {
		t.Errorf("%d names", n)
	}
}

// imitation checks a result whose token looks like another.
func imitation(t *testing.T, name, like string, r *api.Result, out map[string]string) {
	t.Helper()
	mark := "imitation of " + like
	if tr := r.TokenTransfers[0]; tr.TokenSymbol != mark || tr.TokenName != mark {
		t.Errorf("%q: symbol %q, name %q", name, tr.TokenSymbol, tr.TokenName)
	}
	if !strings.Contains(r.Summary, "imitation") || len(r.Risks) == 0 || !strings.Contains(strings.Join(r.Risks, "\n"), "imitates "+like) {
		t.Errorf("%q: %s; risks %q", name, r.Summary, r.Risks)
	}
	for _, format := range []string{"text", "html", "json", "mcp", "sequence.mmd", "flow.svg", "transfers.csv", "balances.csv"} {
		if !strings.Contains(out[format], mark) {
			t.Errorf("%q: %s does not call it an imitation", name, format)
		}
	}
	for _, b := range r.BalanceChanges {
		for _, x := range b.Tokens {
			if x.TokenAddress == api.AddrOf(token) && (x.ValueUSD != nil || x.PriceUSD != nil) {
				t.Errorf("%q has a price", name)
			}
		}
	}
	if r.USDValue != nil && r.USDValue.Unscaled.Sign() > 0 {
		t.Errorf("%q is worth %s USD", name, r.USDValue)
	}
}

// hidden checks that no output has a name, escaped or not.
func hidden(t *testing.T, name string, out map[string]string) {
	t.Helper()
	name = strings.TrimSpace(name)
	if len(name) < 6 || strings.Contains("0x1111…1111 0x1111111111111111111111111111111111111111", name) {
		return // the sender's own address is in every output
	}
	quoted, _ := stdjson.Marshal(name)
	for format, text := range out {
		for _, form := range []string{name, html.EscapeString(name), string(quoted[1 : len(quoted)-1])} {
			if strings.Contains(text, form) {
				t.Errorf("%q stands in %s", name, format)
				break
			}
		}
	}
}

// registered makes transactions in which a name is registered.
func registered(t *testing.T) func(name string) *assemble.Evidence {
	return func(name string) *assemble.Evidence {
		ev := evidence(t, "ZORK", "ZORK", "")
		word := func(n int64) []byte { return common.BigToHash(big.NewInt(n)).Bytes() }
		data := slices.Concat(word(4*32), word(5), word(0), word(1_750_000_000), abiString(name)[32:])
		ev.Receipt.Logs = []ethrpc.Log{{Address: registry, Data: data, Topics: []common.Hash{
			evmsig.Hash("NameRegistered(string,bytes32,address,uint256,uint256,uint256)"), {1}, common.BytesToHash(sender[:]),
		}}}
		ev.Tx.To, ev.Contracts = &registry, nil
		ev.Tree.Root.To = registry
		return ev
	}
}
