package decode

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// word is a number or an address as 64 hex digits.
func word(v any) string {
	if s, ok := v.(string); ok {
		return strings.Repeat("0", 64-len(s)) + s
	}
	return fmt.Sprintf("%064x", v)
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const alice, bob = "a11ce00000000000000000000000000000000001", "b0b0000000000000000000000000000000000002"

var (
	token = common.HexToAddress("0x7070000000000000000000000000000000000003")
	impl  = common.HexToAddress("0x1111000000000000000000000000000000000004")
)

// calling is a tree of one call that burnt gas.
func calling(tb testing.TB, to common.Address, input string) *trace.Tree {
	f := &trace.Frame{To: to, HasTo: true, Input: unhex(tb, input), GasUsed: 50_000}
	return &trace.Tree{Root: f, Frames: []*trace.Frame{f}}
}

func verifiedABI(tb testing.TB, text string) *abi.ABI {
	tb.Helper()
	a, err := ParseABI([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// show writes a decode on one line.
func show(sig string, args []api.Arg, p Provenance, note string) string {
	var parts []string
	for _, a := range args {
		parts = append(parts, a.Name+"="+valuesOf(a.Value))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s [%s] %s", p, sig, strings.Join(parts, " "), note))
}

func TestCallsByTheTables(t *testing.T) {
	f := func(input string, src Sources, want string) {
		t.Helper()
		c := New(nil, src).All(calling(t, token, input), nil).Calls[0]
		if got := show(c.Signature, c.Args, c.Provenance, c.Note); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	const unnamed = "[]"
	transfer := "a9059cbb" + word(alice) + word(5)
	spam := Sources{Functions: map[[4]byte][]string{{0xa9, 0x05, 0x9c, 0xbb}: {"many_msg_babbage(bytes1)", "join_tg_invmru_haha_fd06787(address,bool)"}}}
	f(transfer, Sources{}, "curated transfer(address,uint256) [to=0x"+alice+" amount=5]")
	f(transfer, spam, "curated transfer(address,uint256) [to=0x"+alice+" amount=5]")
	f(transfer+"c0ffee", Sources{}, "curated transfer(address,uint256) [to=0x"+alice+" amount=5] trailing bytes")
	f("70a08231"+word(alice), Sources{}, "npm_abi balanceOf(address) [account=0x"+alice+"]")
	// Whoever knows a selector well and finds that the bytes do not fit leaves no
	// room for a planted name that fits.
	f("a9059cbb"+word("ff"+strings.Repeat("0", 10)+alice)+word(5), Sources{}, unnamed)
	f("a9059cbb"+word(alice), Sources{}, unnamed)
	// The signature database: text only, the bytes exactly.
	id := selector("neverSeen(bytes)")
	named := Sources{Functions: map[[4]byte][]string{id: {"wrongHash(bytes)", "neverSeen(bytes)", "neverSeen(bytes )"}}}
	in := hex.EncodeToString(id[:])
	f(in+word(32)+word(2)+"abcd"+strings.Repeat("0", 60), named, "signature_database neverSeen(bytes) [arg0=0xabcd]")
	f(in+word(32)+word(2)+"abcd"+strings.Repeat("0", 59)+"1", named, unnamed)
	f(in+word(32)+word(2)+"abcd"+strings.Repeat("0", 60)+"00", named, unnamed)
	f(in+word(64)+word(0)+word(2)+"abcd"+strings.Repeat("0", 60), named, unnamed)
	// go-ethereum's table answers last.
	f("00000001"+word(7), Sources{}, "fourbyte account_info_rotate_tine(uint256) [arg0=7]")
	f("00000001"+word(7)+"00", Sources{}, unnamed)
	f("fffffffe", Sources{}, unnamed)
}

func selector(text string) [4]byte { return [4]byte(crypto.Keccak256([]byte(text))[:4]) }

// One selector, two texts that both read the bytes: a name found for the collision
// loses against the one that packages publish, in whatever order they come.
func TestCollisionsLoseAgainstPublishedNames(t *testing.T) {
	a, b := "collate_propagate_storage(bytes16)", "burn(uint256)"
	if selector(a) != selector(b) {
		t.Fatal("the two do not collide")
	}
	in := hex.EncodeToString(crypto.Keccak256([]byte(a))[:4])
	k := selector(a)
	d := New(nil, Sources{Functions: map[[4]byte][]string{k: {a, b}}})
	c := d.All(calling(t, token, in+word(0)), nil).Calls[0]
	if c.Name != "burn" || c.Provenance != FromPackages {
		t.Errorf("got %s from %s", c.Name, c.Provenance)
	}
}

const vaultABI = `[
 {"type":"function","name":"put","inputs":[{"name":"who","type":"address"},{"name":"data","type":"bytes"}],"outputs":[{"name":"shares","type":"uint256"}],"stateMutability":"nonpayable"},
 {"type":"function","name":"transfer","inputs":[{"name":"verifiedTo","type":"address"},{"name":"verifiedAmount","type":"uint256"}],"outputs":[]},
 {"type":"event","name":"Put","inputs":[{"name":"who","type":"address","indexed":true},{"name":"tag","type":"string","indexed":true},{"name":"n","type":"int24","indexed":false}]},
 {"type":"error","name":"Nope","inputs":[{"name":"why","type":"bytes"}]},
 {"type":"constructor","inputs":[{"name":"owner","type":"address"},{"name":"label","type":"string"}]},
 {"type":"receive","stateMutability":"payable"}, {"type":"fallback","stateMutability":"payable"}]`

func TestVerifiedABIWins(t *testing.T) {
	vault := &Contract{Address: impl, ABI: verifiedABI(t, vaultABI), Source: "sourcify"}
	f := func(tree *trace.Tree, src Sources, want string) {
		t.Helper()
		c := New(nil, src).All(tree, nil).Calls[0]
		if got := show(c.Signature, c.Args, c.Provenance, c.Note); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	transfer := "a9059cbb" + word(alice) + word(5)
	own := Sources{Contracts: map[common.Address]*Contract{token: vault}}
	f(calling(t, token, transfer), own, "verified_abi transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=5]")

	// A proxy: the ABI of what the trace shows behind it.
	behind := Sources{Contracts: map[common.Address]*Contract{impl: vault}}
	tree := calling(t, token, transfer)
	child := &trace.Frame{Kind: trace.DelegateCall, From: token, To: impl, HasTo: true, Input: tree.Root.Input, Depth: 1, Index: 1, Parent: tree.Root, GasUsed: 1}
	tree.Root.Children = []*trace.Frame{child}
	tree.Frames = append(tree.Frames, child)
	f(tree, behind, "verified_implementation transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=5]")
	if c := New(nil, behind).All(tree, nil).Calls[1]; c.Provenance != FromVerified {
		t.Errorf("the delegated frame itself: %s", c.Provenance)
	}
	// ... or what somebody says stands behind it.
	said := Sources{Contracts: map[common.Address]*Contract{impl: vault, token: {Address: token, Implementation: &impl}}}
	f(calling(t, token, transfer), said, "verified_implementation transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=5]")
	// Unusual offsets: the ABI proves the function, and the note says so.
	put := selector("put(address,bytes)")
	in := hex.EncodeToString(put[:]) + word(alice) + word(96) + word(0) + word(1) + "ab" + strings.Repeat("0", 62)
	f(calling(t, token, in), own, "verified_abi put(address,bytes) [who=0x"+alice+" data=0xab] non-canonical offsets")
	f(calling(t, token, ""), own, "verified_abi receive() []")
	f(calling(t, token, "aa"), own, "verified_abi fallback() []")
	f(calling(t, token, "ffffffff"), own, "verified_abi fallback() []")
}

func TestOutputsOfAKnownFunction(t *testing.T) {
	tree := calling(t, token, "70a08231"+word(alice))
	tree.Root.Output = unhex(t, word(77))
	c := New(nil, Sources{}).All(tree, nil).Calls[0]
	if len(c.Outputs) != 1 || c.Outputs[0].Value != "77" {
		t.Errorf("outputs %v", c.Outputs)
	}
}

func TestConstructorArguments(t *testing.T) {
	src := Sources{Contracts: map[common.Address]*Contract{impl: {ABI: verifiedABI(t, vaultABI)}}}
	f := func(input, want string) {
		t.Helper()
		tree := calling(t, impl, input)
		tree.Root.Kind = trace.Create2
		c := New(nil, src).All(tree, nil).Calls[0]
		if got := show(c.Name, c.Args, c.Provenance, ""); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	code := "6080604052" + strings.Repeat("5b", 321) + "a2646970667358"
	args := word(alice) + word(64) + word(2) + "6869" + strings.Repeat("0", 60)
	f(code+args, "verified_abi constructor [owner=0x"+alice+" label=hi]")
	f(code, "verified_abi constructor []")
	f(code+args+args[:32], "verified_abi constructor []")
	// Two tails fit: the arguments themselves end in a complete encoding.
	twice := word(alice) + word(64) + word(128) + args
	f(code+twice, "verified_abi constructor []")
}

func TestNothingToDecode(t *testing.T) {
	tree := calling(t, token, "a9059cbb"+word(alice)+word(5))
	zeros := strings.Count(string(tree.Root.Input), "\x00")
	tree.Root.GasUsed = uint64(21000 + 4*zeros + 16*(68-zeros))
	f := func(what string, tree *trace.Tree) {
		t.Helper()
		if c := New(nil, Sources{}).All(tree, nil).Calls[0]; c != nil {
			t.Errorf("%s: %+v", what, c)
		}
	}
	f("a message to an account without code", tree)
	f("a plain transfer", calling(t, token, ""))
	tree = calling(t, impl, "6080")
	tree.Root.Kind = trace.Create
	f("an unverified creation", tree)
	tree = calling(t, impl, "")
	tree.Root.Kind = trace.SelfDestruct
	f("a self-destruct", tree)
}

// TestCodeDecidesAboutMessages: where the code of the receiver was asked for, its answer decides,
// and the gas only where it was not.
func TestCodeDecidesAboutMessages(t *testing.T) {
	yes, no := true, false
	f := func(codeless *bool, gas uint64, decoded bool) {
		t.Helper()
		tree := calling(t, token, "a9059cbb"+word(alice)+word(5))
		tree.Root.GasUsed = gas
		if c := New(nil, Sources{Codeless: codeless}).All(tree, nil).Calls[0]; (c != nil) != decoded {
			t.Errorf("%d gas: %+v, want decoded %t", gas, c, decoded)
		}
	}
	f(nil, 0, false)
	f(nil, 250_000, true)
	f(&yes, 250_000, false)
	f(&no, 0, true)
}

func TestReceiveOfUnverifiedCode(t *testing.T) {
	tree := calling(t, token, "")
	tree.Root.Logs = []trace.Log{{Address: token, Receipt: -1}}
	if c := New(nil, Sources{}).All(tree, nil).Calls[0]; c == nil || c.Name != "receive" {
		t.Errorf("got %+v", c)
	}
}

// TestPrecompilesHaveNoReceive: where no code stands, a call without data has no name.
func TestPrecompilesHaveNoReceive(t *testing.T) {
	tree := calling(t, common.BytesToAddress([]byte{4}), "")
	tree.Root.Err = "out of gas"
	tree.Root.GasUsed = 18
	if c := New(nil, Sources{}).All(tree, nil).Calls[0]; c != nil {
		t.Errorf("got %+v", c)
	}
}

func TestEventsByLayout(t *testing.T) {
	f := func(topics []string, data, want string, src Sources) {
		t.Helper()
		l := ethrpc.Log{Address: token, Data: unhex(t, data)}
		for _, s := range topics {
			l.Topics = append(l.Topics, common.HexToHash(s))
		}
		got := "nothing"
		if e := New(nil, src).All(calling(t, token, ""), &ethrpc.Receipt{Logs: []ethrpc.Log{l}}).Events[0]; e != nil {
			got = show(e.Signature, e.Args, e.Provenance, e.Note)
		}
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	hash := func(text string) string { return crypto.Keccak256Hash([]byte(text)).Hex() }
	transfer := hash("Transfer(address,address,uint256)")
	f([]string{transfer, alice, bob}, word(9), "curated Transfer(address,address,uint256) [from=0x"+alice+" to=0x"+bob+" value=9]", Sources{})
	f([]string{transfer, alice, bob, word(9)}, "", "curated Transfer(address,address,uint256) [from=0x"+alice+" to=0x"+bob+" tokenId=9]", Sources{})
	f([]string{transfer}, word(alice)+word(bob)+word(9), "curated Transfer(address,address,uint256) [from=0x"+alice+" to=0x"+bob+" value=9]", Sources{})
	f([]string{transfer, alice}, word(bob)+word(9), "curated Transfer(address,address,uint256) [] inferred layout", Sources{})
	f([]string{transfer, alice}, word(7)+word(9), "curated Transfer(address,address,uint256) [] inferred layout", Sources{})
	f([]string{hash("RewardsAccrued(address,uint256)"), alice}, word(9), "npm_abi RewardsAccrued(address,uint256) [user=0x"+alice+" amount=9] inferred layout", Sources{})
	f([]string{transfer, alice, bob, word(9)}, word(9), "nothing", Sources{})
	f([]string{transfer, "ff" + strings.Repeat("0", 22) + alice, bob}, word(9), "nothing", Sources{})
	f(nil, word(9), "nothing", Sources{})
	f([]string{word(1)}, word(9), "nothing", Sources{})

	// Verified: dynamic indexed arguments are hashes.
	vault := Sources{Contracts: map[common.Address]*Contract{token: {ABI: verifiedABI(t, vaultABI)}}}
	f([]string{hash("Put(address,string,int24)"), alice, word(3)}, word(strings.Repeat("f", 64)),
		"verified_abi Put(address,string,int24) [who=0x"+alice+" tag=0x"+word(3)+" n=-1]", vault)

	// A frame that is not the emitter's own code lends it no ABI (a tree made of the
	// receipt alone has all logs in its root).
	other := Sources{Contracts: map[common.Address]*Contract{impl: {ABI: verifiedABI(t, vaultABI)}}}
	put := &trace.Frame{Kind: trace.Call, To: impl, HasTo: true}
	topics := []common.Hash{common.HexToHash(hash("Put(address,string,int24)")), common.HexToHash(alice), {31: 3}}
	if e := New(nil, other).Event(put, token, topics, make([]byte, 32)); e != nil {
		t.Errorf("got %+v", e)
	}
	put.Kind, put.From = trace.DelegateCall, impl
	if e := New(nil, other).Event(put, token, topics, make([]byte, 32)); e != nil {
		t.Errorf("got %+v", e)
	}
	put.From = token
	if e := New(nil, other).Event(put, token, topics, make([]byte, 32)); e == nil || e.Provenance != FromVerifiedImpl {
		t.Errorf("got %+v", e)
	}

	// The signature database does not say what is indexed: the bytes decide, or nobody.
	db := func(text string) Sources {
		return Sources{Events: map[common.Hash][]string{crypto.Keccak256Hash([]byte(text)): {text}}}
	}
	f([]string{hash("Seen(address,uint256)"), alice}, word(9), "signature_database Seen(address,uint256) [arg0=0x"+alice+" arg1=9] inferred layout", db("Seen(address,uint256)"))
	f([]string{hash("Seen(uint256,address)"), alice}, word(9), "signature_database Seen(uint256,address) [arg0=9 arg1=0x"+alice+"] inferred layout", db("Seen(uint256,address)"))
	f([]string{hash("Seen(uint256,uint256)"), word(4)}, word(9), "signature_database Seen(uint256,uint256) [] inferred layout", db("Seen(uint256,uint256)"))
	f([]string{hash("Seen(uint256,uint256)")}, word(4)+word(9), "signature_database Seen(uint256,uint256) [arg0=4 arg1=9]", db("Seen(uint256,uint256)"))
	f([]string{hash("Seen(uint256,uint256)")}, word(4)+word(9)+"00", "nothing", db("Seen(uint256,uint256)"))
}

func TestPrecompiles(t *testing.T) {
	f := func(n int64, input, output, want string) {
		t.Helper()
		tree := calling(t, common.HexToAddress(fmt.Sprintf("%x", n)), input)
		tree.Root.Output = unhex(t, output)
		got := ""
		if c := New(nil, Sources{}).All(tree, nil).Calls[0]; c != nil {
			got = show(c.Signature, c.Args, c.Provenance, "")
		}
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	f(1, word(1)+word(27)+word(3)+word(4), word(alice), "builtin ecrecover(bytes32,uint256,bytes32,bytes32) [hash=0x"+word(1)+" v=27 r=0x"+word(3)+" s=0x"+word(4)+"]")
	f(1, word(1), "", "builtin ecrecover(bytes32,uint256,bytes32,bytes32) [hash=0x"+word(1)+" v=0 r=0x"+word(0)+" s=0x"+word(0)+"]")
	f(2, "616263", word(5), "builtin sha256(bytes) [data=0x616263]")
	f(0x0b, "00", word(5), "builtin bls12G1Add(bytes) [data=0x00]")
	f(0x0b, "00", "", "") // before its fork: an empty account
	f(0x100, strings.Repeat("00", 160), "", "builtin p256Verify(bytes32,uint256,uint256,uint256,uint256) [hash=0x"+word(0)+" r=0 s=0 x=0 y=0]")
	f(0x12, "00", word(5), "")
}

func TestValuesAreBounded(t *testing.T) {
	read := func(text string, data []byte) api.Arg {
		s, err := signature.Parse(signature.Func, text)
		if err != nil {
			t.Fatal(err)
		}
		args, _, ok := newValues().read(s.Inputs, s.Head, data, exact)
		if !ok {
			t.Fatalf("%s refuses its data", text)
		}
		return args[0]
	}
	number := func(n int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24), uint64(n)) }
	list := append(append(number(32), number(100_000)...), make([]byte, 32*100_000)...)
	if got := read("f(uint256[])", list).Value.([]any); len(got) != maxElements+1 || got[maxElements] != "... (100000 elements)" {
		t.Errorf("a long array shows %d elements, the last %v", len(got), got[len(got)-1])
	}
	s, _ := signature.Parse(signature.Func, "f(uint256[])")
	for i := range 100_000 {
		list[64+32*i] = 1 // a number that takes memory to write
	}
	if n := testing.AllocsPerRun(1, func() { newValues().read(s.Inputs, s.Head, list, exact) }); n > 4*maxElements {
		t.Errorf("what is not shown is rendered: %v allocations", n)
	}
	blob := append(append(number(32), number(64_000)...), make([]byte, 64_000)...)
	if got := read("f(bytes)", blob).Value.(string); len(got) > 2*maxBytes+30 || !strings.HasSuffix(got, "... (64000 bytes)") {
		t.Errorf("long bytes show %d characters", len(got))
	}
	evil := "a\u202eb\u200bc\x00\x1b[31m\ufeffd\nе" + strings.Repeat("x", 300)
	text := append(append(number(32), number(len(evil))...), evil...)
	text = append(text, make([]byte, (32-len(evil)%32)%32)...)
	if got := read("f(string)", text).Value.(string); got != "abc[31md е"+strings.Repeat("x", 190) {
		t.Errorf("text %q", got)
	}
	if got := read("f(int256)", unhex(t, strings.Repeat("f", 62)+"85")).Value; got != "-123" {
		t.Errorf("a negative number: %v", got)
	}
	if got := read("f(int256)", unhex(t, "8"+strings.Repeat("0", 63))).Value; got != "-57896044618658097711785492504343953926634992332820282019728792003956564819968" {
		t.Errorf("the least number: %v", got)
	}
}

// Lengths that the data cannot hold must cost nothing.
func TestHostileLengthsAllocateNothing(t *testing.T) {
	s, err := signature.Parse(signature.Func, "f(uint256[][][][][][],(string,bytes32[1000])[],bytes)")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64<<10)
	for i := 31; i < len(data); i += 32 {
		data[i], data[i-1] = 0x60, 0x01
	}
	for _, m := range []mode{exact, lenient, repaired} {
		n := testing.AllocsPerRun(1, func() { newValues().read(s.Inputs, s.Head, data, m) })
		if n > 20_000 {
			t.Errorf("mode %d: %v allocations for %d bytes", m, n, len(data))
		}
	}
}

// TestNonCanonicalCalldata: the ABI of the called contract names the function of calldata
// that no encoder writes, and its arguments are what the EVM and compilers before Solidity
// 0.5 read. No other source of signatures does.
func TestNonCanonicalCalldata(t *testing.T) {
	vault := &Contract{Address: token, ABI: verifiedABI(t, vaultABI), Source: "sourcify"}
	own := Sources{Contracts: map[common.Address]*Contract{token: vault}}
	put := selector("put(address,bytes)")
	f := func(what, in string, src Sources, want string, nonCanonical bool) {
		t.Helper()
		c := New(nil, src).All(calling(t, token, in), nil).Calls[0]
		if got := show(c.Signature, c.Args, c.Provenance, c.Note); got != want || c.NonCanonical() != nonCanonical {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
	}
	// An address that ends in a zero byte, without that byte: the amount moves up by it.
	short := alice[:38] + word(5)
	f("short address", "a9059cbb"+strings.Repeat("0", 24)+short, own,
		"verified_abi transfer(address,uint256) [verifiedTo=0x"+alice[:38]+"00 verifiedAmount=1280] non-canonical calldata", true)
	f("amount left out", "a9059cbb"+word(alice), own,
		"verified_abi transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=0] non-canonical calldata", true)
	f("bits before the address", "a9059cbb"+strings.Repeat("f", 24)+alice+word(5), own,
		"verified_abi transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=5] non-canonical calldata", true)
	f("bytes follow", "a9059cbb"+word(alice)+word(5)+"c0ffee", own,
		"verified_abi transfer(address,uint256) [verifiedTo=0x"+alice+" verifiedAmount=5] trailing bytes", false)
	f("unpadded bytes", hex.EncodeToString(put[:])+word(alice)+word(64)+word(3)+"abcdef", own,
		"verified_abi put(address,bytes) [who=0x"+alice+" data=0xabcdef] non-canonical offsets", false)
	f("a length beyond the end", hex.EncodeToString(put[:])+word(alice)+word(64)+word(500)+"ab", own,
		"verified_abi put(address,bytes) [] non-canonical calldata, arguments not decoded", true)
	f("short, no ABI", "a9059cbb"+word(alice), Sources{}, "[]", false)
}

// TestFit: a word that does not fit its type is read as the type's own bits.
func TestFit(t *testing.T) {
	f := func(typ, word, want string) {
		t.Helper()
		s, err := signature.Parse(signature.Func, "f("+typ+")")
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(fit(s.Inputs[0].Type, unhex(t, word))); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
	}
	ones, zeros := strings.Repeat("f", 64), strings.Repeat("0", 64)
	f("uint8", ones, zeros[:62]+"ff")
	f("uint256", ones, ones)
	f("int8", zeros[:60]+"ff80", ones[:62]+"80")
	f("int8", zeros[:60]+"ff7f", zeros[:62]+"7f")
	f("bool", zeros[:62]+"02", zeros[:63]+"1")
	f("bool", zeros, zeros)
	f("address", ones, zeros[:24]+ones[:40])
	f("bytes4", ones, ones[:8]+zeros[:56])
}
