package flow

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func word(n uint64) []byte { return common.BigToHash(new(big.Int).SetUint64(n)).Bytes() }

func topicOf(a common.Address) common.Hash { return common.BytesToHash(a[:]) }

// logOf builds a log from topics and data words: addresses, numbers, hashes.
func logOf(emitter common.Address, topics []common.Hash, data ...any) ethrpc.Log {
	l := ethrpc.Log{Address: emitter, Topics: topics}
	for _, d := range data {
		switch d := d.(type) {
		case int:
			l.Data = append(l.Data, word(uint64(d))...)
		case common.Address:
			l.Data = append(l.Data, topicOf(d).Bytes()...)
		case common.Hash:
			l.Data = append(l.Data, d[:]...)
		case []byte:
			l.Data = append(l.Data, d...)
		}
	}
	return l
}

func topics(first common.Hash, rest ...any) []common.Hash {
	out := []common.Hash{first}
	for _, r := range rest {
		switch r := r.(type) {
		case common.Address:
			out = append(out, topicOf(r))
		case int:
			out = append(out, common.BytesToHash(word(uint64(r))))
		}
	}
	return out
}

// listed writes transfers: "erc20 token alice>bob 5".
func listed(f *Flow) string {
	var parts []string
	for _, t := range f.Transfers {
		s := fmt.Sprintf("%s %s %s>%s %s", t.Standard, names[t.Token], names[t.From], names[t.To], t.Amount)
		if t.ID != nil {
			s += "#" + t.ID.String()
		}
		if t.Wrap {
			s += " wrap"
		}
		if t.Sub > 0 {
			s += fmt.Sprintf(" [%d]", t.Sub)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " | ")
}

func withLogs(logs ...ethrpc.Log) Input {
	in := made(frame(trace.Call, alice, token, 0))
	in.Receipt.Logs = logs
	return in
}

func TestTransferLayouts(t *testing.T) {
	f := func(want string, logs ...ethrpc.Log) {
		t.Helper()
		if got := listed(Compute(withLogs(logs...))); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	transfer := func(rest ...any) []common.Hash { return topics(evmsig.TopicTransfer, rest...) }
	single := topics(evmsig.TopicTransferSingle, carol, alice, bob)
	batch := topics(evmsig.TopicTransferBatch, carol, alice, bob)

	f("erc20 token alice>bob 5", logOf(token, transfer(alice, bob), 5))
	f("erc20 token alice>bob 5", logOf(token, transfer(alice), bob, 5))
	f("erc20 token alice>bob 5", logOf(token, transfer(), alice, bob, 5))
	f("erc721 token alice>bob 1#7", logOf(token, transfer(alice, bob, 7)))
	f("erc1155 token alice>bob 5#7", logOf(token, single, 7, 5))
	f("erc1155 token alice>bob 5#7 | erc1155 token alice>bob 6#8 [1]", logOf(token, batch, 64, 160, 2, 7, 8, 2, 5, 6))
	f("erc1155 token alice>bob 7#7", logOf(token, batch, 64, 64, 1, 7)) // both arrays in one place
	f("", logOf(token, batch, 64, 96, 0, 0))
	f("erc6909 token alice>bob 5#7", logOf(token, topics(evmsig.TopicTransfer6909, alice, bob, 7), carol, 5))
	f("erc20 token alice>bob 0", logOf(token, transfer(alice, bob), 0))

	// What does not fit its event is no transfer.
	dirty := topics(evmsig.TopicTransfer, alice, bob)
	dirty[1][0] = 1
	f("", logOf(token, dirty, 5))
	f("", logOf(token, transfer(alice, bob), []byte{1, 2, 3}))
	f("", logOf(token, transfer(alice), bob))
	f("", logOf(token, transfer(), alice, bob))
	f("", logOf(token, transfer(alice, bob, 7, 8)))
	f("", logOf(token, nil, 5))
	f("", logOf(token, single, 7))
	f("", logOf(token, single[:3], 7, 5))
	f("", logOf(token, batch, 64, 160, 2, 7, 8, 1, 5))
	f("", logOf(token, batch, 64, 160, 2, 7, 8, 3, 5, 6))
	f("", logOf(token, batch, 64, 192, 2, 7, 8, 2, 5, 6))
	f("", logOf(token, batch, common.MaxHash, 160, 2, 7, 8, 2, 5, 6))
	f("", logOf(token, batch, 64, 160, common.MaxHash, 7, 8, 2, 5, 6))
	f("", logOf(token, batch, 64))
	f("", logOf(token, topics(evmsig.TopicTransfer6909, alice, bob, 7), carol))
	f("", logOf(evmsig.NativeLogger, transfer(alice, bob), 5)) // EIP-7708 repeats a native move
}

func TestTransfersOfIDsWithoutTheLayout(t *testing.T) {
	kitty := withLogs(logOf(cryptoKitties, topics(evmsig.TopicTransfer), alice, bob, 77))
	if got := listed(Compute(kitty)); got != "erc721  alice>bob 1#77" {
		t.Errorf("CryptoKitties: %s", got)
	}
	kitty.Chain = chainOf(137)
	if got := listed(Compute(kitty)); got != "erc20  alice>bob 77" {
		t.Errorf("the same address elsewhere: %s", got)
	}
	in := withLogs(logOf(token, topics(evmsig.TopicTransfer, alice, bob), 77))
	in.NFT = func(a common.Address) bool { return a == token }
	if got := listed(Compute(in)); got != "erc721 token alice>bob 1#77" {
		t.Errorf("told by the caller: %s", got)
	}
}

func TestNetTokenChanges(t *testing.T) {
	f := func(want string, logs ...ethrpc.Log) {
		t.Helper()
		if got := told(Compute(withLogs(logs...))); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	move := func(from, to common.Address, n any) ethrpc.Log {
		return logOf(token, topics(evmsig.TopicTransfer, from, to), n)
	}
	nft := func(from, to common.Address, id int) ethrpc.Log {
		return logOf(token, topics(evmsig.TopicTransfer, from, to, id))
	}
	zero := common.Address{}

	f("alice -5 token | bob +5 token", move(alice, bob, 5))
	f("alice -5 token | carol +5 token", move(alice, bob, 5), move(bob, carol, 5)) // what passes through leaves nothing
	f("alice -5 token | bob +5 token", move(bob, carol, 1), move(alice, bob, 5), move(carol, bob, 1))
	f("", move(alice, alice, 5))
	f("bob +5 token", move(zero, bob, 5)) // minted: nobody lost it
	f("alice -5 token", move(alice, zero, 5))
	f("alice -1 token#7 | bob +1 token#7", nft(alice, bob, 7))
	f("alice -1 token#7 | bob -1 token#8 | carol +1 token#7 | carol +1 token#8", nft(bob, carol, 8), nft(alice, carol, 7))
	f("alice -5 token#7 | bob +5 token | bob +5 token#7", logOf(token, topics(evmsig.TopicTransferSingle, carol, alice, bob), 7, 5), move(zero, bob, 5))
	// Amounts of 2^256-1 add up beyond the word.
	f("alice -231584178474632390847141970017375815706539969331281128078915168015826259279870 token | "+
		"bob +231584178474632390847141970017375815706539969331281128078915168015826259279870 token",
		move(alice, bob, common.MaxHash), move(alice, bob, common.MaxHash))
}

func TestNativeCoinAsTokenCountsOnce(t *testing.T) {
	f := func(id uint64, root *trace.Frame, wantMoves, wantList string) {
		t.Helper()
		in := made(root)
		in.Chain = chainOf(id)
		in.Receipt.Logs = []ethrpc.Log{logOf(*in.Chain.Stack.NativeToken(), topics(evmsig.TopicTransfer, alice, bob), 5)}
		got := Compute(in)
		if told(got) != wantMoves || strings.ReplaceAll(listed(got), "  ", " ") != wantList {
			t.Errorf("chain %d: got %s, listed %s", id, told(got), listed(got))
		}
	}
	celo, matic := *chainOf(42220).Stack.NativeToken(), *chainOf(137).Stack.NativeToken()
	// GoldToken moves coin through a precompile: only the log shows it.
	f(42220, frame(trace.Call, alice, celo, 0, frame(trace.Call, celo, common.HexToAddress("0xfd"), 0)), "alice -5 | bob +5", "erc20 alice>bob 5")
	// MRC20 pays with a call: the log repeats it.
	f(137, frame(trace.Call, alice, matic, 5, frame(trace.Call, matic, bob, 5)), "alice -5 | bob +5", "erc20 alice>bob 5")
	// ZKsync logs every move: the frames repeat it, and it is no token transfer.
	f(324, frame(trace.Call, alice, bob, 5), "alice -5 | bob +5", "")
}

func TestWrap(t *testing.T) {
	f := func(in Input, want string) {
		t.Helper()
		if got := listed(Compute(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	weth := *chainOf(1).WrappedNative
	names[weth] = "weth"
	deposit, withdrawal := topics(evmsig.TopicDeposit, alice), topics(evmsig.TopicWithdrawal, alice)
	zero := common.Address{}

	f(withLogs(logOf(weth, deposit, 5)), "erc20 weth >alice 5 wrap")
	f(withLogs(logOf(weth, withdrawal, 5)), "erc20 weth alice> 5 wrap")
	f(withLogs(logOf(weth, deposit[:1], alice, 5)), "erc20 weth >alice 5 wrap")
	f(withLogs(logOf(weth, deposit, 0)), "")
	f(withLogs(logOf(weth, deposit, []byte{5})), "")

	// A wrapped coin that also emits the Transfer counts once.
	f(withLogs(logOf(weth, topics(evmsig.TopicTransfer, zero, alice), 5), logOf(weth, deposit, 5)), "erc20 weth >alice 5")
	f(withLogs(logOf(weth, withdrawal, 5), logOf(weth, topics(evmsig.TopicTransfer, alice, zero), 5)), "erc20 weth alice> 5")
	f(withLogs(logOf(weth, topics(evmsig.TopicTransfer, alice, bob), 5), logOf(weth, deposit, 5)), "erc20 weth alice>bob 5 | erc20 weth >alice 5 wrap")

	// Another emitter needs WETH9's own call and must be a token.
	foreign := func(input []byte, wei uint64, extra ...ethrpc.Log) Input {
		call := frame(trace.Call, alice, token, wei)
		call.Input = input
		in := made(call)
		in.Receipt.Logs = append([]ethrpc.Log{logOf(token, deposit, 5)}, extra...)
		return in
	}
	spent := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5)
	f(foreign(evmsig.SelDeposit[:], 5, spent), "erc20 token >alice 5 wrap | erc20 token alice>bob 5")
	f(foreign(evmsig.SelDeposit[:], 4, spent), "erc20 token alice>bob 5")
	f(foreign(nil, 5, spent), "erc20 token alice>bob 5") // a wallet that is paid
	f(foreign(evmsig.SelDeposit[:], 5), "")              // a staking contract
	known := foreign(evmsig.SelDeposit[:], 5)
	known.Token = func(a common.Address) bool { return a == token }
	f(known, "erc20 token >alice 5 wrap")
	shares := logOf(token, topics(evmsig.TopicTransfer, zero, alice), 4) // a vault that mints shares
	f(foreign(evmsig.SelDeposit[:], 5, spent, spent, shares), "erc20 token alice>bob 5 | erc20 token alice>bob 5 | erc20 token >alice 4")

	unwrap := frame(trace.Call, alice, token, 0, frame(trace.DelegateCall, token, pool, 0, frame(trace.Call, token, alice, 5)))
	unwrap.Input = append(evmsig.SelWithdraw[:], word(5)...)
	in := made(unwrap)
	in.Receipt.Logs = []ethrpc.Log{spent, logOf(token, withdrawal, 5)}
	f(in, "erc20 token alice>bob 5 | erc20 token alice> 5 wrap")
	unwrap.Input = append(evmsig.SelWithdraw[:], word(6)...)
	f(in, "erc20 token alice>bob 5")
}

func TestAmountsAreTheCallers(t *testing.T) {
	in := withLogs(logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5), logOf(token, topics(evmsig.TopicTransfer, alice, bob), 6))
	f := Compute(in)
	a := f.Transfers[0].Amount
	a.Lsh(a, 300).Neg(a) // must not reach the neighbour in the slab
	if got := f.Transfers[1].Amount.String(); got != "6" {
		t.Errorf("changing one amount made its neighbour %s", got)
	}
	if got := told(Compute(in)); got != "alice -11 token | bob +11 token" {
		t.Errorf("second run: %s", got)
	}
}

// FuzzLogs gives hostile topics and data to the log reader. The result must
// balance: what one holder lost and another won adds up to what was minted.
func FuzzLogs(f *testing.F) {
	for _, l := range []ethrpc.Log{
		logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5),
		logOf(token, topics(evmsig.TopicTransfer, alice), bob, 5),
		logOf(token, topics(evmsig.TopicTransfer), alice, bob, 5),
		logOf(token, topics(evmsig.TopicTransfer, alice, bob, 7)),
		logOf(token, topics(evmsig.TopicTransferSingle, carol, alice, bob), 7, 5),
		logOf(token, topics(evmsig.TopicTransferBatch, carol, alice, bob), 64, 160, 2, 7, 8, 2, 5, 6),
		logOf(token, topics(evmsig.TopicTransfer6909, alice, bob, 7), carol, 5),
		logOf(token, topics(evmsig.TopicDeposit, alice), 5),
		logOf(token, topics(evmsig.TopicWithdrawal, alice), 5),
	} {
		var flat []byte
		for _, t := range l.Topics[1:] {
			flat = append(flat, t[:]...)
		}
		f.Add(uint8(0), l.Topics[0][:], flat, l.Data)
	}
	kinds := []common.Hash{evmsig.TopicTransfer, evmsig.TopicTransferSingle, evmsig.TopicTransferBatch, evmsig.TopicTransfer6909, evmsig.TopicDeposit, evmsig.TopicWithdrawal, evmsig.TopicMint, evmsig.TopicBaseWithdrawal, evmsig.TopicLogFeeTransfer}
	ids := []uint64{1, 137, 324, 42220}
	f.Fuzz(func(t *testing.T, pick uint8, first, rest, data []byte) {
		l := ethrpc.Log{Topics: []common.Hash{common.BytesToHash(first)}, Data: data}
		if pick > 0 {
			l.Topics[0] = kinds[int(pick)%len(kinds)]
		}
		for len(rest) >= 32 && len(l.Topics) < 6 {
			l.Topics, rest = append(l.Topics, common.BytesToHash(rest[:32])), rest[32:]
		}
		for _, id := range ids {
			in := withLogs()
			in.Chain = chainOf(id)
			for _, emitter := range []*common.Address{&token, in.Chain.WrappedNative, in.Chain.Stack.NativeToken()} {
				if emitter != nil {
					l.Address = *emitter
					in.Receipt.Logs = append(in.Receipt.Logs, l, l)
				}
			}
			checkBalanced(t, in, Compute(in))
		}
	})
}

func checkBalanced(t *testing.T, in Input, f *Flow) {
	t.Helper()
	sums := map[TokenKey]*big.Int{}
	add := func(k TokenKey, n *big.Int) { sums[k] = new(big.Int).Add(orZero(sums[k]), n) }
	for _, c := range f.Changes {
		for _, d := range c.Deltas {
			add(d.Key, new(big.Int).Neg(d.Amount))
		}
	}
	for _, x := range f.Transfers {
		if in.Chain.Stack.NativeToken() != nil && x.Token == *in.Chain.Stack.NativeToken() {
			continue
		}
		k := TokenKey{Token: x.Token, NFT: x.Standard == ERC721}
		if x.ID != nil {
			k.ID = x.ID.String()
		}
		if x.From == (common.Address{}) {
			add(k, x.Amount)
		}
		if x.To == (common.Address{}) {
			add(k, new(big.Int).Neg(x.Amount))
		}
	}
	for _, m := range f.Moves {
		if m.Kind == MoveMint {
			add(TokenKey{}, m.Amount)
		}
		if m.NoTo {
			add(TokenKey{}, new(big.Int).Neg(m.Amount))
		}
	}
	for k, n := range sums {
		if n.Sign() != 0 {
			t.Errorf("chain %d: %v does not balance: %s", in.Chain.ID, k, n)
		}
	}
}

func TestWide(t *testing.T) {
	top := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	v := uint256.MustFromBig(top)
	var in, out uint384
	for range 5 {
		in.add(v)
	}
	out.addBig(new(big.Int).Lsh(top, 64))
	want := new(big.Int).Mul(top, big.NewInt(5))
	if got := in.big(); got.Cmp(want) != 0 {
		t.Errorf("sum %s, want %s", got, want)
	}
	if got := net(&in, &out); got.Cmp(new(big.Int).Sub(want, new(big.Int).Lsh(top, 64))) != 0 {
		t.Errorf("net %s", got)
	}
	if net(&in, &in) != nil {
		t.Error("equal sums must give nil")
	}
	out = uint384{}
	out.addBig(big.NewInt(-1))
	out.addBig(new(big.Int).Lsh(big.NewInt(1), 400))
	if !out.isZero() {
		t.Error("amounts out of range must be left out")
	}
}
