package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// recorded is one real transaction, parsed.
type recorded struct {
	name string
	raw  *fixture.Tx
	in   Input
	diff *ethrpc.StateDiff
}

// eachRecorded visits all recorded transactions. The state diff is not part of
// the input: the ledger has to do without.
func eachRecorded(tb testing.TB, visit func(r *recorded)) {
	tb.Helper()
	blocks := fixture.Blocks(tb)
	for bi := range blocks {
		b := &blocks[bi]
		ch, ok := chain.ByID(b.ChainID)
		if !ok {
			tb.Fatalf("chain %d is not in the table", b.ChainID)
		}
		header, err := ethrpc.ParseBlock(b.Header)
		must(tb, err)
		for i := range b.Txs {
			visit(parseRecorded(tb, ch, header, &b.Txs[i]))
		}
	}
}

func parseRecorded(tb testing.TB, ch *chain.Chain, header *ethrpc.Block, t *fixture.Tx) *recorded {
	tb.Helper()
	tx, err := ethrpc.ParseTransaction(t.Tx)
	must(tb, err)
	rc, err := ethrpc.ParseReceipt(t.Receipt)
	must(tb, err)
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(t.Trace)), trace.Limits{})
	must(tb, err)
	diff, err := ethrpc.ParseStateDiff(t.StateDiff)
	must(tb, err)
	succeeded := tree.Root.Status == trace.OK
	if rc.Status != nil {
		succeeded = *rc.Status == 1
	}
	return &recorded{
		name: fmt.Sprintf("%s %d %s", ch.Slug, header.Number, t.Hash), raw: t, diff: diff,
		in: Input{Chain: ch, Tx: tx, Receipt: rc, Block: header, Tree: tree, Succeeded: succeeded},
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// blindSpots are the accounts whose credit the recordings lack: Optimism's L1 fee
// vault, and on Scroll, re-executed by plain go-ethereum, every fee recipient.
func blindSpots(ch *chain.Chain, header *ethrpc.Block) map[common.Address]bool {
	switch ch.ID {
	case 10:
		return map[common.Address]bool{common.HexToAddress("0x420000000000000000000000000000000000001a"): true}
	case 534352:
		return map[common.Address]bool{common.HexToAddress("0x5300000000000000000000000000000000000005"): true, header.Miner: true}
	}
	return nil
}

// netBalances reads the recorded diff independently of the code under test, from the raw JSON.
func netBalances(tb testing.TB, raw []byte) map[common.Address]*big.Int {
	tb.Helper()
	type account struct{ Balance string }
	var d struct{ Pre, Post map[common.Address]*account }
	must(tb, json.Unmarshal(raw, &d))
	n := make(map[common.Address]*big.Int)
	wei := func(a *account) *big.Int {
		v := new(big.Int)
		if a != nil && a.Balance != "" {
			v.SetString(strings.TrimPrefix(a.Balance, "0x"), 16)
		}
		return v
	}
	for a, pre := range d.Pre {
		post := d.Post[a]
		if post != nil && post.Balance == "" {
			post = pre
		}
		n[a] = new(big.Int).Sub(wei(post), wei(pre))
	}
	for a, post := range d.Post {
		if d.Pre[a] == nil {
			n[a] = wei(post)
		}
	}
	return n
}

// TestNativeChangesEqualRecordedStateDiff is the proof of the native ledger.
func TestNativeChangesEqualRecordedStateDiff(t *testing.T) {
	txs, addrs := 0, 0
	eachRecorded(t, func(r *recorded) {
		txs++
		f := Compute(r.in)
		if !f.Complete {
			t.Errorf("%s: the ledger is not complete", r.name)
		}
		ours := nativeChanges(f)
		theirs := netBalances(t, r.raw.StateDiff)
		blind := blindSpots(r.in.Chain, r.in.Block)
		for a, want := range theirs {
			addrs++
			if got := orZero(ours[a]); got.Cmp(want) != 0 && !blind[a] {
				t.Errorf("%s: %s: ledger %s, recorded %s", r.name, a, got, want)
			}
		}
		for a, got := range ours {
			if theirs[a] == nil && !blind[a] {
				t.Errorf("%s: %s: ledger %s, not in the recording", r.name, a, got)
			}
		}
	})
	if txs != 482 {
		t.Errorf("%d transactions, want 482", txs)
	}
	t.Logf("%d transactions, %d addresses", txs, addrs)
}

func nativeChanges(f *Flow) map[common.Address]*big.Int {
	out := make(map[common.Address]*big.Int)
	for _, c := range f.Changes {
		for _, d := range c.Deltas {
			if d.Key == (TokenKey{}) {
				out[c.Address] = d.Amount
			}
		}
	}
	return out
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

// TestFeesOfRecordedTransactions checks the split against the rules, written down
// a second time: nothing is left unexplained, and what is burnt is the base fee.
func TestFeesOfRecordedTransactions(t *testing.T) {
	eachRecorded(t, func(r *recorded) {
		f := Compute(r.in).Fee
		if f == nil {
			t.Fatalf("%s: no fee", r.name)
		}
		sum := new(big.Int).Add(f.Burnt, f.Unassigned)
		for _, s := range f.Shares {
			if s.Amount.Sign() <= 0 || s.Role == "" {
				t.Errorf("%s: share %+v", r.name, s)
			}
			sum.Add(sum, s.Amount)
		}
		parts := new(big.Int).Add(f.Execution, f.L1)
		parts.Add(parts.Add(parts, f.Operator), f.Blob)
		if f.Total.Cmp(sum) != 0 || f.Total.Cmp(parts) != 0 || f.Unassigned.Sign() != 0 {
			t.Errorf("%s: total %s, parts %s, receivers %s, unassigned %s", r.name, f.Total, parts, sum, f.Unassigned)
		}
		burnt := new(big.Int)
		if r.in.Chain.ID == 1 && r.in.Block.BaseFee != nil {
			burnt.Mul(r.in.Block.BaseFee, new(big.Int).SetUint64(r.in.Receipt.GasUsed))
			if p := r.in.Receipt.BlobGasPrice; p != nil {
				burnt.Add(burnt, new(big.Int).Mul(p, new(big.Int).SetUint64(r.in.Receipt.BlobGasUsed)))
			}
		}
		if f.Burnt.Cmp(burnt) != 0 {
			t.Errorf("%s: burnt %s, want %s", r.name, f.Burnt, burnt)
		}
	})
}

// scanned is one transfer as the naive scan sees it.
type scanned struct{ standard, token, from, to, id, amount string }

// scanLogs reads the transfers of ERC-20, ERC-721, ERC-1155 and WETH9 out of the
// raw receipt by slicing hex text. Neither ERC-6909 nor two indexed arguments
// occur in the recordings.
func scanLogs(tb testing.TB, raw []byte, wrapped string) (out []scanned) {
	tb.Helper()
	var rc struct {
		Logs []struct {
			Address, Data string
			Topics        []string
		}
	}
	must(tb, json.Unmarshal(raw, &rc))
	who := func(word string) string { return "0x" + word[len(word)-40:] }
	num := func(word string) string {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(word, "0x"), 16)
		if !ok {
			tb.Fatalf("word %q", word)
		}
		return n.String()
	}
	const zero = "0x0000000000000000000000000000000000000000"
	for _, l := range rc.Logs {
		if len(l.Topics) == 0 {
			continue
		}
		data := strings.TrimPrefix(l.Data, "0x")
		at := func(i int) string { return data[64*i : 64*i+64] }
		t := l.Topics
		switch {
		case strings.HasPrefix(t[0], "0xddf252ad") && len(t) == 4:
			out = append(out, scanned{"erc721", l.Address, who(t[1]), who(t[2]), num(t[3]), "1"})
		case strings.HasPrefix(t[0], "0xddf252ad") && len(t) == 3:
			out = append(out, scanned{"erc20", l.Address, who(t[1]), who(t[2]), "", num(at(0))})
		case strings.HasPrefix(t[0], "0xddf252ad") && l.Address == "0x06012c8cf97bead5deae237070f9587f8e7a266d":
			out = append(out, scanned{"erc721", l.Address, who(at(0)), who(at(1)), num(at(2)), "1"})
		case strings.HasPrefix(t[0], "0xddf252ad"):
			out = append(out, scanned{"erc20", l.Address, who(at(0)), who(at(1)), "", num(at(2))})
		case strings.HasPrefix(t[0], "0xdeaa91b6"):
			first, _ := new(big.Int).SetString(num(t[1]), 10)
			last, _ := new(big.Int).SetString(num(at(0)), 10)
			n := new(big.Int).Sub(last, first)
			if ids := num(t[1]); n.Sign() > 0 {
				ids += "-" + num(at(0))
				out = append(out, scanned{"erc721", l.Address, who(t[2]), who(t[3]), ids, n.Add(n, big.NewInt(1)).String()})
			} else {
				out = append(out, scanned{"erc721", l.Address, who(t[2]), who(t[3]), ids, "1"})
			}
		case strings.HasPrefix(t[0], "0xc3d58168"):
			out = append(out, scanned{"erc1155", l.Address, who(t[2]), who(t[3]), num(at(0)), num(at(1))})
		case strings.HasPrefix(t[0], "0x4a39dc06"):
			var n int
			_, err := fmt.Sscanf(at(2), "%x", &n)
			must(tb, err)
			for i := range n {
				out = append(out, scanned{"erc1155", l.Address, who(t[2]), who(t[3]), num(at(3 + i)), num(at(4 + n + i))})
			}
		case strings.HasPrefix(t[0], "0xe1fffcc4") && wrapper(l.Address, wrapped):
			out = append(out, scanned{"erc20", l.Address, zero, who(t[1]), "", num(at(0))})
		case strings.HasPrefix(t[0], "0x7fcf532c") && wrapper(l.Address, wrapped):
			out = append(out, scanned{"erc20", l.Address, who(t[1]), zero, "", num(at(0))})
		}
	}
	return out
}

// wrapper adds the two copies of WETH9 that the Optimism blocks hold.
func wrapper(token, wrapped string) bool {
	return token == wrapped || token == "0xb69c8cbcd90a39d8d3d3ccf0a3e968511c3856a0" || token == "0x121ab82b49b2bc4c7901ca46b8277962b4350204"
}

func TestTransfersEqualScanOfRecordedLogs(t *testing.T) {
	total, kinds := 0, map[string]int{}
	eachRecorded(t, func(r *recorded) {
		want := scanLogs(t, r.raw.Receipt, strings.ToLower(r.in.Chain.WrappedNative.Hex()))
		got := Compute(r.in).Transfers
		if len(got) != len(want) {
			t.Errorf("%s: %d transfers, want %d", r.name, len(got), len(want))
			return
		}
		for i, g := range got {
			s := scanned{string(g.Standard), low(g.Token), low(g.From), low(g.To), "", g.Amount.String()}
			if g.ID != nil {
				s.id = g.ID.String()
			}
			if g.Last != nil {
				s.id += "-" + g.Last.String()
			}
			if s != want[i] {
				t.Errorf("%s: transfer %d is %+v, want %+v", r.name, i, s, want[i])
			}
			kinds[s.standard]++
			total++
		}
	})
	t.Log(total, kinds)
}

func low(a common.Address) string { return strings.ToLower(a.Hex()) }

// TestChangesAreTheSumOfTheirParts adds moves and transfers up again, with maps
// and big integers, and checks what the order of Changes promises.
func TestChangesAreTheSumOfTheirParts(t *testing.T) {
	eachRecorded(t, func(r *recorded) {
		f := Compute(r.in)
		want := map[string]*big.Int{}
		add := func(a common.Address, k TokenKey, n *big.Int) {
			id := fmt.Sprint(a, k)
			want[id] = new(big.Int).Add(orZero(want[id]), n)
		}
		for _, m := range f.Moves {
			if m.Kind != MoveMint {
				add(m.From, TokenKey{}, new(big.Int).Neg(m.Amount))
			}
			if !m.NoTo {
				add(m.To, TokenKey{}, m.Amount)
			}
		}
		for _, x := range f.Transfers {
			k := TokenKey{Token: x.Token, NFT: x.Standard == ERC721}
			if x.ID != nil {
				k.ID = x.ID.String()
			}
			if x.Last != nil {
				k.ID += "-" + x.Last.String()
			}
			if x.From != (common.Address{}) {
				add(x.From, k, new(big.Int).Neg(x.Amount))
			}
			if x.To != (common.Address{}) {
				add(x.To, k, x.Amount)
			}
		}
		feeOnly := false
		for i, c := range f.Changes {
			if c.Address == r.in.Tx.From && i != 0 {
				t.Errorf("%s: the sender is number %d", r.name, i)
			}
			if feeOnly && !c.FeeOnly {
				t.Errorf("%s: %s comes after fee recipients", r.name, c.Address)
			}
			feeOnly = c.FeeOnly
			for _, d := range c.Deltas {
				id := fmt.Sprint(c.Address, d.Key)
				if d.Amount.Sign() == 0 || d.Amount.Cmp(orZero(want[id])) != 0 {
					t.Errorf("%s: %s %v: %s, sum %s", r.name, c.Address, d.Key, d.Amount, want[id])
				}
				delete(want, id)
			}
		}
		for id, n := range want {
			if n.Sign() != 0 {
				t.Errorf("%s: %s moved %s and is in no change", r.name, id, n)
			}
		}
	})
}

func TestRecordedStateDiffReconciles(t *testing.T) {
	eachRecorded(t, func(r *recorded) {
		in := r.in
		in.Diff = r.diff
		f := Compute(in)
		if !f.Reconciled {
			t.Errorf("%s: not reconciled", r.name)
		}
		blind := blindSpots(in.Chain, in.Block)
		for _, m := range f.Mismatches {
			if !blind[m.Address] {
				t.Errorf("%s: %s: ledger %s, recorded %s", r.name, m.Address, m.Ledger, m.Recorded)
			}
		}
	})
}

// TestSmallerEvidence drops evidence: tokens and fee stay, and the result says
// what it lacks. Compressing the trace changes nothing but frame numbers.
func TestSmallerEvidence(t *testing.T) {
	compressed := 0
	eachRecorded(t, func(r *recorded) {
		full := Compute(r.in)
		if again := Compute(r.in); !reflect.DeepEqual(full, again) {
			t.Errorf("%s: two runs differ", r.name)
		}
		in := r.in
		in.Tree = trace.FromReceipt(in.Tx, in.Receipt, in.Succeeded)
		poor := Compute(in)
		if poor.Complete || !reflect.DeepEqual(poor.Fee, full.Fee) {
			t.Errorf("%s: from the receipt alone: complete %v, fee %+v", r.name, poor.Complete, poor.Fee)
		}
		tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(r.raw.Trace)), trace.Limits{CompressAbove: 8})
		must(t, err)
		if !tree.Compressed() {
			return
		}
		compressed++
		in.Tree = tree
		if f := Compute(in); !reflect.DeepEqual(nativeChanges(f), nativeChanges(full)) || !f.Complete {
			t.Errorf("%s: compressed: %v, want %v", r.name, nativeChanges(f), nativeChanges(full))
		}
	})
	if compressed < 10 {
		t.Errorf("only %d traces were compressed", compressed)
	}
}

// TestLabelledTransactions runs the ledger on ten chains with receipts alone.
func TestLabelledTransactions(t *testing.T) {
	for _, id := range fixture.LabelledChains() {
		ch, _ := chain.ByID(id)
		open, n := 0, 0
		for _, l := range fixture.LabelledOf(t, id) {
			tx, err := ethrpc.ParseTransaction(l.Tx)
			must(t, err)
			rc, err := ethrpc.ParseReceipt(l.Receipt)
			must(t, err)
			header, err := ethrpc.ParseBlock(l.Block)
			must(t, err)
			f := Compute(Input{Chain: ch, Tx: tx, Receipt: rc, Block: header, Succeeded: rc.Status == nil || *rc.Status == 1})
			if f.Fee == nil {
				continue
			}
			n++
			sum := new(big.Int).Add(f.Fee.Burnt, f.Fee.Unassigned)
			for _, s := range f.Fee.Shares {
				sum.Add(sum, s.Amount)
			}
			if sum.Cmp(f.Fee.Total) != 0 {
				t.Errorf("%s %s: receivers %s, total %s", ch.Slug, l.Hash, sum, f.Fee.Total)
			}
			if f.Fee.Unassigned.Sign() != 0 {
				open++
			}
		}
		if open > 0 && ch.Stack.Fee(chain.Latest).RecipientsKnown {
			t.Errorf("%s: %d of %d fees have unknown recipients", ch.Slug, open, n)
		}
		t.Logf("%s: %d fees, %d with unassigned parts", ch.Slug, n, open)
	}
}
