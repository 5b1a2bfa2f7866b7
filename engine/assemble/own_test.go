package assemble_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/label"
	"txlens/engine/overlay"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
)

// ownOf reads files, given as names and texts in turn.
func ownOf(t *testing.T, files ...string) *overlay.Data {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	d, err := overlay.Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// evidenceOf is the evidence of a scene on Ethereum.
func evidenceOf(s *scene.Scene) *assemble.Evidence {
	ch, _ := chain.ByID(1)
	s.Root.Gas, s.Root.Status = s.Tx.Gas, trace.OK
	frames := append([]*trace.Frame{s.Root}, s.Root.Children...)
	for i, f := range frames {
		f.Index = i
	}
	return &assemble.Evidence{Chain: ch, Tx: s.Tx, Receipt: s.Rc, Tree: &trace.Tree{Root: s.Root, Frames: frames, Source: trace.SourceDebug}, Tokens: s.Tokens, SourcesOff: true}
}

// address is the entry of an address.
func address(t *testing.T, r *api.Result, a common.Address) api.Address {
	t.Helper()
	for _, x := range r.Addresses {
		if common.Address(x.Address) == a {
			return x
		}
	}
	t.Fatalf("%s is not in the result", a)
	return api.Address{}
}

// paid is a transfer of USDC from the user to somebody.
func paid(to common.Address) *assemble.Evidence {
	s := scene.New(&scene.Usdc, 0, scene.Input("transfer(address,uint256)", to, 5_000_000))
	return evidenceOf(s.Transfer(scene.Usdc, scene.User, to, 5_000_000))
}

// TestOwnNames: the user's names are in headline, steps, transfers and balance changes.
func TestOwnNames(t *testing.T) {
	ev := paid(scene.Friend)
	ev.Own = ownOf(t, "labels.tsv", fmt.Sprintf("*\t%s\tmy treasury\n1\t%s\tcold wallet\t\tscraped\n", scene.User, scene.Friend))
	r := assemble.Result(ev)
	if !strings.Contains(r.Summary, "cold wallet (0xf00d…f00d)") {
		t.Errorf("headline %q", r.Summary)
	}
	if steps := strings.Join(r.Steps, "\n"); !strings.Contains(steps, "my treasury (0xa11c…a11c) sent 5 USDC to cold wallet (0xf00d…f00d)") {
		t.Errorf("steps %q", steps)
	}
	if x := address(t, r, scene.Friend); x.Label != "cold wallet" || x.LabelSource != "user: labels.tsv" || x.LabelConfidence != api.LabelScraped {
		t.Errorf("%+v", x)
	}
	ev.Own = ev.Own.Shared()
	text, _ := json.Marshal(assemble.Result(ev))
	ev.Own = nil
	without, _ := json.Marshal(assemble.Result(ev))
	if strings.Contains(string(text), "cold wallet") || strings.Contains(string(text), "treasury") || string(text) != string(without) {
		t.Errorf("shared data tells private labels: %s", text)
	}
}

// TestOwnNameOverTables: a name of the user goes before those of the tables, and what they know
// beside the name still decides.
func TestOwnNameOverTables(t *testing.T) {
	f := func(own, below, want label.Label) {
		t.Helper()
		own.Origin, want.Origin = label.ByUser, label.ByUser
		if got := own.Over(below); got != want {
			t.Errorf("%+v over %+v: %+v, want %+v", own, below, got, want)
		}
	}
	mine := label.Label{Name: "mine", Source: "user: a", Confidence: label.Scraped}
	f(mine, label.Label{}, mine)
	f(mine, label.Label{Name: "Router", Category: "dex", Protocol: "some_dex", Source: "x", Confidence: label.Official},
		label.Label{Name: "mine", Source: "user: a", Category: "dex", Protocol: "some_dex", Confidence: label.Official})
	f(mine, label.Label{Name: "B", Category: label.Reported, Source: "x", Confidence: label.Scraped},
		label.Label{Name: "mine", Source: "user: a", Category: label.Reported, WarnedBy: "x", Confidence: label.Scraped})
	wallet := mine
	wallet.Category = "account"
	f(wallet, label.Label{Name: "B", Category: "dex"}, wallet)
	f(wallet, label.Label{Name: "B", Category: label.Sanctioned, Source: "x"},
		label.Label{Name: "mine", Source: "user: a", Category: label.Sanctioned, WarnedBy: "x", Confidence: label.Scraped})
	f(wallet, label.Label{Name: "M", Category: label.Mixer, Source: "x"},
		label.Label{Name: "mine", Source: "user: a", Category: label.Mixer, WarnedBy: "x", Confidence: label.Scraped})
	bad := mine
	bad.Category = label.Reported
	f(bad, label.Label{Name: "M", Category: label.Mixer, Source: "x"}, bad)
	f(bad, label.Label{Name: "M", Category: "dex", Source: "x"}, bad)
}

// TestOwnBadAddress: a list of the user raises the flag and says whose list it is; a public list
// stays the accuser of an address that the user merely names.
func TestOwnBadAddress(t *testing.T) {
	f := func(to common.Address, file, row, want string) {
		t.Helper()
		ev := paid(to)
		if file != "" {
			ev.Own = ownOf(t, file, row)
		}
		risks := fmt.Sprintf("%+v", assemble.Result(ev).Risks)
		if want == "" && strings.Contains(risks, "reported") || !strings.Contains(risks, want) {
			t.Errorf("%s: risks %s, want %q", row, risks, want)
		}
	}
	f(scene.Friend, "", "", "")
	f(scene.Friend, "bad.tsv", "1\t"+scene.Friend.Hex()+"\tthief\n", "reported_address: 0xf00d…f00d is on a list of bad addresses that the user keeps (user: bad.tsv)")
	f(scene.Friend, "bad.tsv", "10\t"+scene.Friend.Hex()+"\tthief\n", "")
	f(scene.Friend, "labels.tsv", "1\t"+scene.Friend.Hex()+"\tfriend\n", "")
}

// TestOwnBadSpender: an approval for an address of the user's list says whose list it is.
func TestOwnBadSpender(t *testing.T) {
	s := scene.New(&scene.Usdc, 0, scene.Input("approve(address,uint256)", scene.Bot, 5_000_000))
	ev := evidenceOf(s.Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Bot}, 5_000_000))
	ev.Own = ownOf(t, "bad.tsv", "1\t"+scene.Bot.Hex()+"\tthief\n")
	if risks := fmt.Sprintf("%+v", assemble.Result(ev).Risks); !strings.Contains(risks, "which a list of the user reports (user: bad.tsv), may spend") {
		t.Errorf("risks %s", risks)
	}
}

// TestOwnNameOfKnownContract: the tables still say which protocol a contract is of.
func TestOwnNameOfKnownContract(t *testing.T) {
	router := common.HexToAddress("0xE592427A0AEce92De3Edee1F18E0157C05861564") // Uniswap v3
	ev := paid(router)
	ev.Own = ownOf(t, "labels.tsv", "1\t"+router.Hex()+"\tour router\t\tscraped\n")
	if x := address(t, assemble.Result(ev), router); x.Label != "our router" || x.LabelConfidence != api.LabelOfficial {
		t.Errorf("%+v", x)
	}
}

// TestOwnToken: symbol and name are the user's; decimals only where nobody else knows them.
func TestOwnToken(t *testing.T) {
	strange := scene.Addr(0x70ce)
	f := func(known bool, decimals int, want, note string) {
		t.Helper()
		s := scene.New(&strange, 0, scene.Input("transfer(address,uint256)", scene.Friend, 5_000_000))
		if known {
			six := uint8(6)
			s.Tokens[strange] = label.Token{Address: strange, Symbol: "OLD", Decimals: &six, Source: "chain"}
		}
		ev := evidenceOf(s.Transfer(strange, scene.User, scene.Friend, 5_000_000))
		ev.Own = ownOf(t, "tokens.tsv", fmt.Sprintf("1\t%s\tDESK\t%d\tDesk money\n", strange, decimals))
		r := assemble.Result(ev)
		if !strings.Contains(r.Summary, want) {
			t.Errorf("headline %q, want %q", r.Summary, want)
		}
		notes := strings.Join(r.Provenance.Notes, "\n")
		if strings.Contains(notes, "decimals by user") != (note != "") || !strings.Contains(notes, note) {
			t.Errorf("notes %q, want %q", notes, note)
		}
		if _, changed := s.Tokens[strange]; changed != known || known && s.Tokens[strange].Symbol != "OLD" {
			t.Error("the evidence was changed")
		}
	}
	f(false, 6, " 5 DESK", "")
	f(false, 3, "5,000 DESK", "")
	f(true, 6, " 5 DESK", "")
	f(true, 3, " 5 DESK", "DESK has 3 decimals by user: tokens.tsv and 6 by chain; the latter are used")
}

// TestOwnSignatures: ABIs and protocols of the user name calls and events; a vote decides.
func TestOwnSignatures(t *testing.T) {
	shop := scene.Addr(0x5409)
	s := scene.New(&shop, 0, scene.Input("feedTheCat(uint256)", 7))
	s.Log(shop, "CatFed(address,uint256)", []any{scene.User}, 7)
	ev := evidenceOf(s)
	f := func(want string, absent bool) {
		t.Helper()
		text, err := json.Marshal(assemble.Result(ev))
		if err != nil || strings.Contains(string(text), want) == absent {
			t.Errorf("contains %q: %v (%v)", want, absent, err)
		}
	}
	f(`"feedTheCat"`, true)
	ev.Own = ownOf(t, "abis/cat.json", `[{"type":"function","name":"feedTheCat","inputs":[{"name":"grams","type":"uint256"}],"outputs":[]}]`)
	f(`"feedTheCat"`, false)
	f(`"grams"`, false)
	f(`"provenance":"own"`, false)
	f(`"CatFed"`, true)
	ev.Own = ownOf(t, "protocols/cat_food.txt", "name Cat Food\ncontract ethereum "+strings.ToLower(shop.Hex())+" dex Cat Food: Shop\n"+
		"event CatFed(address indexed cat, uint256 grams)\n\tvote stake own party=cat\nfunction feedTheCat(uint256 ounces)\n")
	f(`"CatFed"`, false)
	f(`"ounces"`, false)
	f(`"protocol":"cat_food"`, false)
	f("Cat Food: Shop", false)
	f(`"txType":"stake"`, false)
}

// TestOwnIncident: what the user tells of a transaction is shown.
func TestOwnIncident(t *testing.T) {
	ev := paid(scene.Friend)
	ev.Tx.Hash = common.HexToHash("0xabc")
	ev.Own = ownOf(t, "incidents.tsv", "1\t"+ev.Tx.Hash.Hex()+"\t\tThe drill\ta drill\t\n")
	x := assemble.Result(ev).KnownIncident
	if x == nil || x.Name != "The drill" || x.Cause != "a drill" || x.Source != "user: incidents.tsv" {
		t.Errorf("%+v", x)
	}
}
