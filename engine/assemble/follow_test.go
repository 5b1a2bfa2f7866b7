package assemble

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
)

// TestHeadlineFollowsState: what the state contradicts of a trace is neither in the headline nor in
// the balances; a note tells what the trace claimed, and the confidence is not high.
func TestHeadlineFollowsState(t *testing.T) {
	f := func(claimed, got int64, headline string) {
		t.Helper()
		inner := `{"type":"CALL","from":"` + strings.ToLower(to.Hex()) + `","to":"` + strings.ToLower(from.Hex()) + `","gas":"0x1","gasUsed":"0x1","input":"0x","value":"` + fmt.Sprintf("%#x", claimed) + `"}`
		ev := evidenceOf(t, 1, `{"type":"CALL",`+strings.Replace(head, `"0x"`, `"0x4e71d92d"`, 1)+`,"value":"0x0","calls":[`+inner+`]}`)
		ev.Tx.Input, ev.Tx.Value = common.FromHex("0x4e71d92d"), new(big.Int)
		fee := int64(150_000_000_000_000)
		balance := func(n int64) *ethrpc.Account { return &ethrpc.Account{Balance: big.NewInt(n)} }
		ev.Diff = &ethrpc.StateDiff{
			Pre:  map[common.Address]*ethrpc.Account{from: balance(4e18), to: balance(4e18), miner: balance(0)},
			Post: map[common.Address]*ethrpc.Account{from: balance(4e18 + got - fee), to: balance(4e18 - got), miner: balance(fee / 3)},
		}
		r := Result(ev)
		if r.Summary != headline {
			t.Errorf("headline %q, want %q", r.Summary, headline)
		}
		if b := r.BalanceChanges[0].Tokens[0].RawSignedAmount; b != fmt.Sprint(got-fee) {
			t.Errorf("the sender's balance changed by %s, want %d", b, got-fee)
		}
		note := fmt.Sprintf("state diff: %s moved %d wei by the node's account, %d by trace and receipt; its balance is that of the state", to.Hex(), -got, -claimed)
		if told := strings.Contains(strings.Join(r.Provenance.Notes, "\n"), note); told != (got != claimed) || told && r.Confidence == api.High {
			t.Errorf("confidence %s, notes %q", r.Confidence, r.Provenance.Notes)
		}
	}
	f(2e18, 2e18, "Claimed 2 ETH")
	f(2e18, 1e18, "Claimed 1 ETH")
	f(1e18, 25e17, "Claimed 2.5 ETH")
	f(2e18, 0, "Called claim of 0x2222…2222; no tokens moved")
	f(2e18, -1e18, "Sent 1 ETH")
}
