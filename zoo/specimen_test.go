package zoo

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"
	"testing"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
)

// specimen is one transaction and what is true of it.
type specimen struct {
	name    string
	script  func(w *world) common.Hash
	context string // of the request; most have none
	want    truth
	// gap says what the program lacks that does not yet say what is true. What is
	// wanted stays what is true, and a gap that closes must go.
	gap string
}

// truth is what a result must say.
type truth struct {
	txType    api.TxType
	subType   string
	protocol  string // empty: null
	actor     string // a name among people, or one that the script gave with w.name; empty: the sender
	attempted bool
	// moves are the net movements, "alice -1 ETH +2 USDC": of each holder that is
	// named, all of them. Coins spent on the fee do not count.
	moves []string
	// flags are all risk flags, in any order, but for those of the findings.
	flags []string
	// findings are all categories of findings, the primary one first.
	findings []api.Category
	// victim are all who must be among the victims of the primary finding; attacker are
	// the only ones who may be among its attackers, one at least.
	victim, attacker []string
	// clears are checks that the non-findings must have, by their first words.
	clears []string
	// says are words that the summary must have.
	says []string
}

// specimens of the zoo, by the file that has them.
var specimens = slices.Concat(
	paymentSpecimens, approvalSpecimens, swapSpecimens, liquiditySpecimens, searchingSpecimens,
	exploitSpecimens, lendingSpecimens, governanceSpecimens, safeSpecimens,
	accountSpecimens, proxySpecimens, stakingSpecimens, twinSpecimens,
)

// people are who signs. Each has coins from the first block on.
var people = func() map[string]account {
	all := map[string]account{}
	for _, name := range []string{
		"deployer", "alice", "bob", "carol", "dave", "erin", "frank", "grace", "searcher", "victim", "mallory",
		"bundler", "relayer", "keeper", "feeder", "liquidator", "treasury", "owner1", "owner2", "owner3",
	} {
		all[name] = newAccount(name)
	}
	return all
}()

// who is one of people.
func who(name string) account {
	a, ok := people[name]
	if !ok {
		panic("nobody is called " + name)
	}
	return a
}

// geneses place contracts in the first block; bases mine what every specimen starts
// from. Other files append theirs.
var (
	geneses = []func(*genesis){placeCanon, placeMarket, placeSafe, placeEntryPoint, placeBeaconDeposit, placeBridge, placeBalancer}
	bases   = []func(*world){openMarkets}
)

// open starts the chain and mines the set-up.
func open(tb testing.TB) *world {
	tb.Helper()
	requirePackages(tb)
	g := newGenesis(tb)
	names := make([]string, 0, len(people))
	for name := range people {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		g.fund(who(name).addr, 10_000)
	}
	g.fund(proposer, 1)
	for _, place := range geneses {
		place(g)
	}
	n := startNode(tb, g.alloc())
	w := on(tb, n, n.eth.BlockChain().CurrentBlock())
	for _, lay := range bases {
		lay(w)
	}
	return w
}

// TestZoo performs every specimen and holds what the program says against the truth.
func TestZoo(t *testing.T) {
	base := open(t)
	names, open := map[string]bool{}, 0
	for _, s := range specimens {
		if names[s.name] {
			t.Errorf("two specimens are called %q", s.name)
		}
		names[s.name] = true
		t.Run(s.name, func(t *testing.T) {
			w := on(t, base.node, base.head)
			hash := s.script(w)
			res := w.explain(hash, s.context)
			wrong := append(s.want.compare(w, res), balances(w, hash, res)...)
			switch {
			case s.gap != "" && len(wrong) == 0:
				t.Errorf("it is no gap any longer: %s", s.gap)
			case s.gap != "":
				open++
				t.Logf("gap: %s: %s", s.gap, strings.Join(wrong, "; "))
				return
			}
			for _, line := range wrong {
				t.Error(line)
			}
			if t.Failed() {
				t.Log(tell(w, res))
			}
		})
	}
	t.Logf("%d specimens, %d of them gaps", len(specimens), open)
}

// TestEveryType: the zoo has specimens of all twelve types, exploits of eight causes, and
// more of what only looks like one.
func TestEveryType(t *testing.T) {
	types, causes, total := map[api.TxType]int{}, map[api.Category]int{}, 0
	for _, s := range specimens {
		types[s.want.txType]++
		for _, c := range s.want.findings {
			causes[c]++
		}
		total++
	}
	for _, v := range api.TypeOther.Enum() {
		if name, ok := v.(api.TxType); ok && types[name] == 0 {
			t.Errorf("no specimen is a %s", name)
		}
	}
	if len(types) != 12 || len(causes) < 7 || total < 60 {
		t.Errorf("%d specimens of %d types, %d causes", total, len(types), len(causes))
	}
	t.Logf("%d specimens: %v; causes: %v", total, types, causes)
}

// compare lists what the result says otherwise.
func (want truth) compare(w *world, res *api.Result) (wrong []string) {
	differ := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			wrong = append(wrong, fmt.Sprintf("%s is %s, and not %s", what, w, g))
		}
	}
	differ("txType", orNone(res.TxType), want.txType)
	differ("subType", res.SubType, want.subType)
	differ("protocol", orNone(res.Protocol), want.protocol)
	differ("attempted", res.Attempted, want.attempted)
	if want.attempted && !slices.Contains(want.flags, "inner_failure") { // which is inside of a transaction that succeeded
		differ("status", res.Status, api.StatusReverted)
	}
	actor := nameOf(w, common.Address(res.TxMeta.From))
	if want.actor != "" {
		actor = want.actor
	}
	said := "nobody"
	if res.Provenance != nil && res.Provenance.Actor != nil {
		said = nameOf(w, common.Address(*res.Provenance.Actor))
	}
	differ("actor", said, actor)
	for _, line := range want.moves {
		holder, _, _ := strings.Cut(line, " ")
		differ("movement", movesOf(w, res, holder), sortedMoves(line))
	}
	flags := slices.Clone(want.flags)
	for _, cause := range want.findings { // each is a risk too
		flags = append(flags, string(cause))
	}
	differ("flags", flagsOf(res), sorted(flags))
	var found []api.Category
	for _, f := range res.Findings {
		found = append(found, f.Category)
	}
	differ("findings", found, want.findings)
	wrong = append(wrong, want.blames(w, res)...)
	for _, check := range want.clears {
		if !slices.ContainsFunc(res.NonFindings, func(line string) bool { return strings.HasPrefix(strings.ToLower(line), check) }) {
			wrong = append(wrong, fmt.Sprintf("no non-finding is about %q: %q", check, res.NonFindings))
		}
	}
	for _, words := range want.says {
		if !strings.Contains(res.Summary, words) {
			wrong = append(wrong, fmt.Sprintf("the summary lacks %q: %s", words, res.Summary))
		}
	}
	return wrong
}

// blames holds the primary finding to who lost and who took, and every finding that
// makes an exploit to its check.
func (want truth) blames(w *world, res *api.Result) (wrong []string) {
	if len(want.findings) == 0 || len(res.Findings) == 0 {
		return nil
	}
	named := func(list []api.Addr) (names []string) {
		for _, a := range list {
			names = append(names, nameOf(w, common.Address(a)))
		}
		return names
	}
	f := &res.Findings[0]
	victims, attackers := named(f.Victim), named(f.Attacker)
	for _, name := range want.victim {
		if !slices.Contains(victims, name) {
			wrong = append(wrong, fmt.Sprintf("%s is no victim, but %v", name, victims))
		}
	}
	for _, name := range attackers {
		if !slices.Contains(want.attacker, name) {
			wrong = append(wrong, fmt.Sprintf("%s is called an attacker", name))
		}
	}
	if len(attackers) == 0 && len(want.attacker) > 0 {
		wrong = append(wrong, "nobody is called the attacker")
	}
	shown := f.Status == api.Confirmed || f.Status == api.Probable
	if f.Check == "" || !shown || f.Severity.Rank() < api.SeverityMedium.Rank() {
		wrong = append(wrong, fmt.Sprintf("the finding makes no exploit: %s, %s, check %q", f.Severity, f.Status, f.Check))
	}
	return wrong
}

func orNone[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	sort.Strings(list)
	return list
}

// flagsOf are the words before the colons of the risks, each once.
func flagsOf(res *api.Result) []string {
	var flags []string
	for _, r := range res.Risks {
		flag, _, _ := strings.Cut(r, ":")
		flags = append(flags, flag)
	}
	return slices.Compact(sorted(flags))
}

// nameOf is the name of an account, or its address.
func nameOf(w *world, addr common.Address) string {
	for name, a := range people {
		if a.addr == addr {
			return name
		}
	}
	if name, ok := w.names[addr]; ok {
		return name
	}
	return strings.ToLower(addr.Hex())
}

// movesOf is what the result says of one holder, as truth.moves has it.
func movesOf(w *world, res *api.Result, holder string) string {
	line := holder
	for _, b := range res.BalanceChanges {
		if nameOf(w, common.Address(b.Address)) != holder {
			continue
		}
		for _, c := range b.Tokens {
			amount := c.Balance
			if b.IsSender && common.Address(c.TokenAddress) == (common.Address{}) {
				amount = withoutFee(c, res.Fee)
			}
			if amount == "0" {
				continue
			}
			if !strings.HasPrefix(amount, "-") {
				amount = "+" + amount
			}
			line += " " + amount + " " + strings.ReplaceAll(c.TokenSymbol, " ", "_")
			if c.TokenID != nil {
				line += "#" + *c.TokenID
			}
		}
	}
	return sortedMoves(line)
}

// withoutFee is a movement of coins but for the fee, in whole coins.
func withoutFee(c api.TokenChange, fee *api.Fee) string {
	wei, ok := new(big.Int).SetString(c.RawSignedAmount, 10)
	if !ok || fee == nil {
		return c.Balance
	}
	paid, _ := new(big.Int).SetString(fee.TotalWei, 10)
	text := new(big.Rat).SetFrac(wei.Add(wei, paid), ether("1")).FloatString(18)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// sortedMoves orders the pairs of amount and token of a line.
func sortedMoves(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return ""
	}
	var pairs []string
	for i := 1; i+1 < len(words); i += 2 {
		pairs = append(pairs, words[i]+" "+words[i+1])
	}
	sort.Strings(pairs)
	return strings.Join(append(words[:1:1], pairs...), " ")
}

// balances holds every movement of the result against the balances that the node has
// before and after. Where the block has other transactions nothing is known.
func balances(w *world, hash common.Hash, res *api.Result) (wrong []string) {
	ctx := context.Background()
	block, err := w.node.client.BlockByNumber(ctx, new(big.Int).SetUint64(res.TxMeta.BlockNumber))
	if err != nil || len(block.Transactions()) != 1 || block.Transactions()[0].Hash() != hash {
		return nil
	}
	before := new(big.Int).Sub(block.Number(), big.NewInt(1))
	for _, b := range res.BalanceChanges {
		holder := common.Address(b.Address)
		for _, c := range b.Tokens {
			if c.IsNFT || holder == proposer || holder == (common.Address{}) {
				continue
			}
			token := common.Address(c.TokenAddress)
			was, is := w.balance(token, holder, before), w.balance(token, holder, block.Number())
			if was == nil || is == nil {
				continue
			}
			if change := is.Sub(is, was); change.String() != c.RawSignedAmount {
				wrong = append(wrong, fmt.Sprintf("the node has %s of %s for %s, and not %s", change, c.TokenSymbol, nameOf(w, holder), c.RawSignedAmount))
			}
		}
	}
	return wrong
}

// balance is a holding of coins or of a token that has balanceOf; nil where it has not.
func (w *world) balance(token, holder common.Address, at *big.Int) *big.Int {
	if token == (common.Address{}) {
		wei, err := w.node.client.BalanceAt(context.Background(), holder, at)
		if err != nil {
			w.tb.Fatalf("read balance: %v", err)
		}
		return wei
	}
	data := append(mustHex("0x70a08231"), word(holder)...)
	out, err := w.node.client.CallContract(context.Background(), ethereum.CallMsg{To: &token, Data: data}, at)
	if err != nil || len(out) != 32 {
		return nil
	}
	return new(big.Int).SetBytes(out)
}

// tell is what a reader of a failed test wants to see of the result.
func tell(w *world, res *api.Result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%s)\n", res.Summary, res.TxHash)
	for _, step := range res.Steps {
		fmt.Fprintf(&s, "  step: %s\n", step)
	}
	for _, risk := range res.Risks {
		fmt.Fprintf(&s, "  risk: %s\n", risk)
	}
	for _, f := range res.Findings {
		fmt.Fprintf(&s, "  finding: %s, %s, %s: %s: %s\n", f.Category, f.Severity, f.Status, f.BrokenInvariant, f.Check)
	}
	for _, b := range res.BalanceChanges {
		fmt.Fprintf(&s, "  %s\n", movesOf(w, res, nameOf(w, common.Address(b.Address))))
	}
	return s.String()
}
