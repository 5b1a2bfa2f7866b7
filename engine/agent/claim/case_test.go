package claim

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/go-json-experiment/json/jsontext"
)

// The made-up exploit: an attacker's contract deposits 100 USDC into a vault, which
// calls it back; it withdraws 5,000 USDC from within, the vault's slot 7 falls from
// 9,000,000,000 to 4,100,000,000. The source of the contract is known, so that the rules
// do not take it for a tool of the sender and leave the verdict to the model.
const (
	attacker = "0x1111111111111111111111111111111111111111"
	wielder  = "0x2222222222222222222222222222222222222222"
	vault    = "0x3333333333333333333333333333333333333333"
	usdc     = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	bystand  = "0x4444444444444444444444444444444444444444"
)

func frame(kind, from, to, input, more string) string {
	return `{"type":"` + kind + `","from":"` + from + `","to":"` + to + `","gas":"0x5208","gasUsed":"0x5208","value":"0x0","input":"` + input + `"` + more + `}`
}

func transferLog(index uint64, token, from, to string, amount int64) ethrpc.Log {
	return ethrpc.Log{Address: common.HexToAddress(token), Index: index,
		Topics: []common.Hash{crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)")), common.HexToHash(from), common.HexToHash(to)},
		Data:   common.BigToHash(big.NewInt(amount)).Bytes()}
}

// logJSON is the log as a call tracer gives it, after so many calls.
func logJSON(l ethrpc.Log, position string) string {
	var topics []string
	for _, h := range l.Topics {
		topics = append(topics, `"`+h.Hex()+`"`)
	}
	return `{"address":"` + strings.ToLower(l.Address.Hex()) + `","topics":[` + strings.Join(topics, ",") + `],"data":"` + api.Hex(l.Data).String() + `","position":"` + position + `"}`
}

func exploitEvidence(t testing.TB) *assemble.Evidence {
	t.Helper()
	ch, _ := chain.ByID(1)
	number, index, status := uint64(19_000_000), uint64(3), uint64(1)
	in, out := transferLog(40, usdc, wielder, vault, 100e6), transferLog(41, usdc, vault, wielder, 5000e6)
	withdraw := frame("CALL", wielder, vault, "0x3ccfd60b", `,"calls":[`+frame("CALL", vault, usdc, "0xa9059cbb"+strings.Repeat("0", 128), `,"logs":[`+logJSON(out, "0x0")+`]`)+`]`)
	back := frame("CALL", vault, wielder, "0x12345678", `,"calls":[`+withdraw+`]`)
	deposit := frame("CALL", wielder, vault, "0xb6b55f25"+strings.Repeat("0", 64), `,"calls":[`+
		frame("CALL", vault, usdc, "0x23b872dd"+strings.Repeat("0", 192), `,"logs":[`+logJSON(in, "0x0")+`]`)+`,`+back+`]`)
	root := frame("CALL", attacker, wielder, "0xdeadbeef", `,"calls":[`+deposit+`]`)
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(strings.NewReader(root)), trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	toolAddr, dollars := common.HexToAddress(wielder), uint8(6)
	slot := common.BigToHash(big.NewInt(7))
	at := common.HexToAddress(vault)
	return &assemble.Evidence{
		TxHash: "0x" + strings.Repeat("ab", 32), Chain: ch, Version: "test", Tree: tree,
		Tx:        &ethrpc.Transaction{Hash: common.HexToHash("0x" + strings.Repeat("ab", 32)), Type: 2, From: common.HexToAddress(attacker), To: &toolAddr, Gas: 500_000, GasPrice: big.NewInt(3e9), Value: new(big.Int), Input: common.FromHex("0xdeadbeef"), BlockNumber: &number, Index: &index},
		Receipt:   &ethrpc.Receipt{Status: &status, GasUsed: 21_000, EffectiveGasPrice: big.NewInt(3e9), Logs: []ethrpc.Log{in, out}},
		Block:     &ethrpc.Block{Number: number, Timestamp: 1_705_000_000, Miner: common.HexToAddress("0x55"), BaseFee: big.NewInt(2e9), Withdrawals: -1},
		Tokens:    map[common.Address]label.Token{common.HexToAddress(usdc): {Address: common.HexToAddress(usdc), Symbol: "USDC", Name: "USD Coin", Decimals: &dollars, Listed: true}},
		Prices:    map[common.Address]assemble.Price{common.HexToAddress(usdc): {USD: api.Decimal{Unscaled: big.NewInt(1)}, Time: 1_705_000_000, Source: "test"}},
		Contracts: map[common.Address]*decode.Contract{toolAddr: {Address: toolAddr, ABI: &abi.ABI{}, Source: "sourcify", Match: "exact_match"}, at: {Address: at, Name: "SavingsVault", ABI: vaultABI(t), Source: "sourcify", Match: "exact_match"}},
		Diff: &ethrpc.StateDiff{
			Pre:  map[common.Address]*ethrpc.Account{at: {Storage: map[common.Hash]common.Hash{slot: common.BigToHash(big.NewInt(9e9))}}},
			Post: map[common.Address]*ethrpc.Account{at: {Storage: map[common.Hash]common.Hash{slot: common.BigToHash(big.NewInt(41e8))}}},
		},
	}
}

func exploitCase(t testing.TB) *assemble.Analysis { return assemble.Build(exploitEvidence(t)) }

func vaultABI(t testing.TB) *abi.ABI {
	t.Helper()
	a, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"deposit","inputs":[{"name":"amount","type":"uint256"}],"outputs":[]},{"type":"function","name":"withdraw","inputs":[],"outputs":[]}]`))
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

func addr(s string) api.Addr { return api.AddrOf(common.HexToAddress(s)) }

func u64(n uint64) *uint64 { return &n }

func addrp(s string) *api.Addr { a := addr(s); return &a }

// forget takes away what is known of a contract.
func forget(ev *assemble.Evidence, contract string) {
	delete(ev.Contracts, common.HexToAddress(contract))
}
