package overlay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// folder makes a file system of names and texts in turn.
func folder(list ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(list); i += 2 {
		fsys[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return fsys
}

const (
	a1 = "0x00000000000000000000000000000000000000a1"
	a2 = "0x00000000000000000000000000000000000000a2"
	tx = "0x00000000000000000000000000000000000000000000000000000000000000aa"
)

// everything is a folder with a file of each kind.
func everything() fstest.MapFS {
	return folder(
		"README.md", "what this is",
		".git/config", "",
		"labels.tsv", "# mine\n\n*\t"+a1+"\tmy treasury\nlocalnet\t"+a2+"\tdesk\texchange\tofficial\tshareable\tops wiki\n",
		"labels-more.tsv", "\ufeff1\t"+a2+"\tcold wallet\t\tscraped\r\n",
		"bad.tsv", "ethereum-mainnet\t0x00000000000000000000000000000000000000b1\tscammer\n",
		"tokens.tsv", "777777\t"+a1+"\tLCL\t6\tLocal Coin\n",
		"chains.tsv", "777777\tLocalnet\thttp://127.0.0.1:8545,https://second.example/key\n",
		"incidents.tsv", "1\t"+tx+"\t2026-01-31\tThe incident\ta cause\t$5\n",
		"protocols/my_dex.txt", "name My Dex\ncontract localnet,ethereum "+a1[:40]+"c1 dex My Dex: Router\nevent Bought(address indexed buyer, uint256 amount)\n\tvote swap own party=buyer\n",
		"abis/vault.json", `[{"type":"function","name":"feedTheCat","inputs":[{"name":"grams","type":"uint256"}],"outputs":[]}]`,
	)
}

func TestRead(t *testing.T) {
	d, err := Read(everything())
	if err != nil {
		t.Fatal(err)
	}
	f := func(chainID uint64, a string, want label.Label) {
		t.Helper()
		want.Origin = label.ByUser
		got, ok := d.Label(chainID, common.HexToAddress(a))
		if !ok || got != want {
			t.Errorf("label of %s on %d: %+v, %v; want %+v", a, chainID, got, ok, want)
		}
	}
	f(1, a1, label.Label{Name: "my treasury", Source: "user: labels.tsv", Confidence: label.Curated})
	f(10, a1, label.Label{Name: "my treasury", Source: "user: labels.tsv", Confidence: label.Curated})
	f(1, a2, label.Label{Name: "cold wallet", Source: "user: labels-more.tsv", Confidence: label.Scraped})
	f(777777, a2, label.Label{Name: "desk", Category: "exchange", Source: "user: ops wiki", Confidence: label.Official})
	f(1, a1[:40]+"b1", label.Label{Name: "scammer", Category: label.Reported, Source: "user: bad.tsv", Confidence: label.Curated})
	f(1, a1[:40]+"c1", label.Label{Name: "My Dex: Router", Category: "dex", Protocol: "my_dex", Source: "user: protocols/my_dex.txt", Confidence: label.Curated})
	if l, ok := d.Label(10, common.HexToAddress(a2)); ok {
		t.Errorf("a label of chains 1 and 777777 holds on 10: %+v", l)
	}
	if c := d.Chains(); len(c) != 1 || c[0].Slug != "localnet" || c[0].ID != 777777 || c[0].Native.Decimals != 18 || len(c[0].Endpoints) != 2 {
		t.Errorf("chains %+v", c)
	}
	if tok, ok := d.Token(777777, common.HexToAddress(a1)); !ok || tok.Symbol != "LCL" || *tok.Decimals != 6 || tok.Name != "Local Coin" || !tok.Listed {
		t.Errorf("token %+v, %v", tok, ok)
	}
	if x, ok := d.Incident(1, common.HexToHash(tx)); !ok || x.Name != "The incident" || x.Loss != "$5" || x.Source != "user: incidents.tsv" {
		t.Errorf("incident %+v, %v", x, ok)
	}
	if d.Rules() == nil || d.Signatures() == nil || len(d.Files()) != 8 {
		t.Errorf("rules %v, signatures %v, files %+v", d.Rules(), d.Signatures(), d.Files())
	}
}

// TestShared: what is passed on has no private label, and a digest of its own.
func TestShared(t *testing.T) {
	d, err := Read(everything())
	if err != nil {
		t.Fatal(err)
	}
	s := d.Shared()
	f := func(chainID uint64, a string, want bool) {
		t.Helper()
		if _, got := s.Label(chainID, common.HexToAddress(a)); got != want {
			t.Errorf("shared data knows %s: %v, want %v", a, got, want)
		}
		if _, got := d.Label(chainID, common.HexToAddress(a)); !got {
			t.Errorf("the data does not know %s", a)
		}
	}
	f(1, a1, false)
	f(1, a2, false)
	f(1, a1[:40]+"b1", false)
	f(777777, a2, true)
	f(1, a1[:40]+"c1", true)
	if d.Private() != 3 || s.Private() != 0 || s.Shared() != s {
		t.Errorf("%d private labels, want 3; %d in shared data", d.Private(), s.Private())
	}
	if d.Digest() == s.Digest() || !SameFiles(d.Digest(), s.Digest()) || SameFiles(d.Digest(), "") {
		t.Errorf("digests %s and %s", d.Digest(), s.Digest())
	}
	other := everything()
	other["labels.tsv"].Data = append(other["labels.tsv"].Data, '\n')
	if o, err := Read(other); err != nil || SameFiles(o.Digest(), d.Digest()) {
		t.Errorf("a changed file has the same digest (%v)", err)
	}
}

// TestSharedFallsBack: a private label of one chain does not hide a shareable one of all.
func TestSharedFallsBack(t *testing.T) {
	d, err := Read(folder("labels.tsv", "1\t"+a1+"\tours\n*\t"+a1+"\tDesk\t\t\tshareable\n"))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := d.Label(1, common.HexToAddress(a1))
	if shared, _ := d.Shared().Label(1, common.HexToAddress(a1)); own.Name != "ours" || shared.Name != "Desk" {
		t.Errorf("%q, shared %q", own.Name, shared.Name)
	}
}

func TestNilKnowsNothing(t *testing.T) {
	var d *Data
	var h *Holder
	_, l := d.Label(1, common.Address{})
	_, tok := d.Token(1, common.Address{})
	_, x := d.Incident(1, common.Hash{})
	if l || tok || x || d.Rules() != nil || d.Signatures() != nil || d.Chains() != nil || d.Files() != nil || d.Digest() != "" || d.Shared() != nil ||
		d.Private() != 0 || h.Current() != nil {
		t.Error("a nil *Data knows something")
	}
}

// TestFaults: each kind of fault is refused with its file and line.
func TestFaults(t *testing.T) {
	f := func(name, text string, want ...string) {
		t.Helper()
		_, err := Read(folder(name, text))
		var faults *Faults
		if !errors.As(err, &faults) {
			t.Errorf("%s %q: %v", name, text, err)
			return
		}
		for i, w := range want {
			if i >= len(faults.List) || !strings.HasPrefix(faults.List[i].String(), w) {
				t.Errorf("%s %q: %v, want %q as number %d", name, text, err, w, i)
			}
		}
		if len(faults.List) != len(want) {
			t.Errorf("%s: %d faults, want %d: %v", name, len(faults.List), len(want), err)
		}
	}
	f("labels.tsv", "x\n\n# y\n1\t"+a1+"\n", "labels.tsv:1: it has 1 columns", "labels.tsv:4: it has 2 columns, separated by tabs; want 3 to 7")
	f("labels.tsv", "1\t"+a1+"\ta\tb\tofficial\tprivate\ts\tmore\n", "labels.tsv:1: it has 8 columns")
	f("labels.tsv", "\n1\t0x12\tname\n", `labels.tsv:2: "0x12" is no address`)
	f("labels.tsv", "1\t"+a1[2:]+"\tname\n", "labels.tsv:1: ")
	f("labels.tsv", "1\t0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc3\tname\n", "labels.tsv:1: 0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc3 has a wrong checksum")
	f("labels.tsv", "nochain\t"+a1+"\tname\n", `labels.tsv:1: chain "nochain" is not in the table`)
	f("labels.tsv", "1\t"+a1+"\t\tdex\n", "labels.tsv:1: the name is empty")
	f("labels.tsv", "1\t"+a1+"\t"+strings.Repeat("x", 41)+"\n", "labels.tsv:1: the name is longer than 40 characters")
	f("labels.tsv", "1\t"+a1+"\ta\u202eb\n", "labels.tsv:1: the name has characters that cannot be shown")
	f("labels.tsv", "1\t"+a1+"\ta\tDex\n", `labels.tsv:1: the category "Dex"`)
	f("labels.tsv", "1\t"+a1+"\ta\t\tsure\n", `labels.tsv:1: unknown confidence "sure"`)
	f("labels.tsv", "1\t"+a1+"\ta\t\t\tpublic\n", `labels.tsv:1: "public" is neither`)
	f("labels.tsv", "1\t"+a1+"\ta\n1\t"+a1+"\tb\n", "labels.tsv:2: 0x00000000000000000000000000000000000000A1 stands twice, first at labels.tsv:1")
	f("bad.tsv", "1\t"+a1+"\ta\tdex\n", `bad.tsv:1: unknown confidence "dex"`)
	f("tokens.tsv", "*\t"+a1+"\tX\t6\n", "tokens.tsv:1: name one chain")
	f("tokens.tsv", "1\t"+a1+"\tX\t78\n", `tokens.tsv:1: "78" is no number of decimals`)
	f("tokens.tsv", "1\t"+a1+"\t\t6\n", "tokens.tsv:1: the symbol is empty")
	f("tokens.tsv", "1\t"+a1+"\tX\t6\n1\t"+a1+"\tY\t6\n", "tokens.tsv:2: it stands twice, first at tokens.tsv:1")
	f("chains.tsv", "0\tX\thttp://x\n", `chains.tsv:1: "0" is no chain id`)
	f("chains.tsv", "1\tX\thttp://x\n", "chains.tsv:1: id or name are those of ethereum-mainnet (1)")
	f("chains.tsv", "777\tEthereum\thttp://x\n", "chains.tsv:1: id or name are those of ethereum-mainnet (1)")
	f("chains.tsv", "777777\tX\tftp://x/secret\n", "chains.tsv:1: an endpoint must be http")
	f("chains.tsv", "777777\tX\thttp://x\tX\t18\tnostack\n", `chains.tsv:1: unknown stack "nostack"; want one of arbitrum`)
	f("chains.tsv", "777777\tX\thttp://x\n777777\tY\thttp://x\n", "chains.tsv:2: it stands twice, first at chains.tsv:1")
	f("chains.tsv", "777777\tX\thttp://x\n777778\tx\thttp://x\n", "chains.tsv:2: it stands twice, first at chains.tsv:1")
	f("incidents.tsv", "1\t0x12\t\tn\t\t\n", `incidents.tsv:1: "0x12" is no hash`)
	f("incidents.tsv", "1\t"+tx+"\tyesterday\tn\t\t\n", `incidents.tsv:1: "yesterday" is no date`)
	f("incidents.tsv", "1\t"+tx+"\t\tn\t\t\n1\t"+tx+"\t\tn\t\t\n", "incidents.tsv:2: it stands twice")
	f("protocols/x.txt", "name X\n\ncontract nochain "+a1+" dex X\n", `protocols/x.txt:3: unknown chain "nochain"`)
	f("protocols/x.txt", "name X\ncontract * "+a1+" dex X\n# c\nevent A(uint256 a)\n\tvote swap nonsense\n", `protocols/x.txt:4: A(uint256): unknown flag "nonsense"`)
	f("protocols/x.txt", "", "protocols/x.txt:1: no name")
	f("protocols/uniswap_v3.txt", "name X\n", "protocols/uniswap_v3.txt: the program has a protocol of that name")
	f("protocols/My Dex.txt", "name X\n", "protocols/My Dex.txt: the name of the file")
	f("abis/x.json", "[\n{},\n{]\n]", "abis/x.json:3: ")
	f("abis/x.json", "[{}]", "abis/x.json:1: ")
	f("label.tsv", "", "label.tsv: it is no file of data; want labels*.tsv")
	f("labelsx.tsv", "", "labelsx.tsv: it is no file of data")
	f("more/labels.tsv", "", "more: it is no file of data")
	f("abis/x/y.json", "", "abis/x: it is no file of data")
}

func TestFaultsAreBounded(t *testing.T) {
	_, err := Read(folder("labels.tsv", strings.Repeat("x\n", maxFaults+7)))
	var faults *Faults
	if !errors.As(err, &faults) || len(faults.List) != maxFaults || faults.More != 7 || !strings.HasSuffix(err.Error(), "; and 7 more") {
		t.Errorf("%d faults: %.80v", len(faults.List), err)
	}
}

func TestLimits(t *testing.T) {
	f := func(fsys fstest.MapFS, want string) {
		t.Helper()
		if _, err := Read(fsys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200v, want %q", err, want)
		}
	}
	many := fstest.MapFS{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("labels-%04d.tsv", i)] = &fstest.MapFile{}
	}
	f(many, "labels-1000.tsv: it is beyond the limit of 1000 files")
	half := strings.Repeat("#\n", maxBytes/4)
	f(folder("labels-1.tsv", half, "labels-2.tsv", half+"#\n"), "labels-2.tsv: the files up to it are larger than 64 MiB")
	f(folder("labels.tsv", strings.Repeat("x\n", maxRows+1)), "and ")
	odd := folder("labels.tsv", "")
	odd["labels.tsv"].Mode = 1 << 25 // a named pipe
	f(odd, "labels.tsv: it is no regular file")
}

// TestOwnNameOfProtocol: a label may name a contract of the user's own protocol.
func TestOwnNameOfProtocol(t *testing.T) {
	d, err := Read(folder("protocols/x.txt", "name X\ncontract ethereum "+a1+" dex X: Router\n", "labels.tsv", "1\t"+a1+"\tour router\n"))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := d.Label(1, common.HexToAddress(a1)); l.Name != "our router" || l.Protocol != "x" || l.Category != "dex" {
		t.Errorf("%+v", l)
	}
}

// TestReload: a folder with a fault leaves the data as it was, and so do chains that change.
func TestReload(t *testing.T) {
	fsys := everything()
	h, err := Open(fsys)
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, text, fault string, changed bool) {
		t.Helper()
		before, file := h.Current(), fsys[name]
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
		err := h.Reload()
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", name, err, fault)
		}
		if (h.Current() != before) != changed {
			t.Errorf("%s: changed %v, want %v", name, !changed, changed)
		}
		fsys[name] = file
	}
	f("labels.tsv", "\n1\t"+a1+"\n", "labels.tsv:2: ", false)
	f("chains.tsv", "777777\tLocalnet\thttp://127.0.0.1:8546\n", "needs a new start", false)
	f("labels.tsv", "1\t"+a1+"\tanother name\n", "", true)
	if l, _ := h.Current().Label(1, common.HexToAddress(a1)); l.Name != "another name" {
		t.Errorf("%+v", l)
	}
}

// hundredThousand is a folder of 100,000 private labels.
func hundredThousand() (fsys fstest.MapFS, addrs []common.Address) {
	var b strings.Builder
	for i := range 100_000 {
		a := common.BigToAddress(common.Big1)
		a[0], a[1], a[2], a[10] = byte(i), byte(i>>8), byte(i>>16), 7
		addrs = append(addrs, a)
		text := a.Hex() // with its checksum, which costs the most
		fmt.Fprintf(&b, "1\t%s\tcustomer %d\taccount\treviewed\tprivate\n", text, i)
	}
	return folder("labels.tsv", b.String()), addrs
}

func BenchmarkRead(b *testing.B) {
	fsys, _ := hundredThousand()
	for b.Loop() {
		if _, err := Read(fsys); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLabel(b *testing.B) {
	fsys, addrs := hundredThousand()
	d, err := Read(fsys)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		if _, ok := d.Label(1, addrs[i%len(addrs)]); !ok {
			b.Fatal(i)
		}
		i++
	}
}

// BenchmarkLabelMiss looks up an address that has no label, as most have none.
func BenchmarkLabelMiss(b *testing.B) {
	fsys, _ := hundredThousand()
	d, err := Read(fsys)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d.Label(1, common.Address{19: 9})
	}
}
