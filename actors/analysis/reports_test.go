package analysis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/golden"
	"txlens/testkit/stubnode"
)

// reported is one transaction made from a public bug report, with what a node answers of it.
type reported struct {
	ChainID uint64                     `json:"chainId"`
	Tx      json.RawMessage            `json:"tx"`
	Receipt json.RawMessage            `json:"receipt"`
	Block   json.RawMessage            `json:"block"`
	Trace   json.RawMessage            `json:"trace"`
	Diff    json.RawMessage            `json:"statediff"`
	Parity  json.RawMessage            `json:"parity"`
	Calls   map[string]json.RawMessage `json:"calls"` // address:selector; null: it reverts
	Code    map[string]json.RawMessage `json:"code"`
	State   bool                       `json:"state"` // accounts without a name have nothing, instead of an error
}

// reportedIn reads the files of a folder, by name.
func reportedIn(t *testing.T, folder string) (names []string, all map[string]*reported) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixture.Dir(t), "reports", folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no reported transactions beside the project")
	}
	all = map[string]*reported{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := new(reported)
		if err := json.Unmarshal(raw, r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		names, all[name] = append(names, name), r
	}
	return names, all
}

// hash is that of the transaction.
func (r *reported) hash(t *testing.T) string {
	t.Helper()
	var tx struct{ Hash string }
	if err := json.Unmarshal(r.Tx, &tx); err != nil {
		t.Fatal(err)
	}
	return tx.Hash
}

var errNoMethod = &stubnode.RPCError{Code: -32601, Message: "the method does not exist/is not available"}

// node answers for the transaction.
func (r *reported) node(t *testing.T) string {
	t.Helper()
	n := stubnode.New(nil, stubnode.Options{ChainID: r.ChainID})
	whole := func(answer json.RawMessage) stubnode.Handler {
		return func([]json.RawMessage) (json.RawMessage, error) {
			if answer == nil {
				return nil, errNoMethod
			}
			return answer, nil
		}
	}
	n.Handle("eth_blockNumber", whole(json.RawMessage(`"0xfffffff"`)))
	n.Handle("eth_getTransactionByHash", whole(r.Tx))
	n.Handle("eth_getTransactionReceipt", whole(r.Receipt))
	n.Handle("eth_getBlockByNumber", whole(r.Block))
	n.Handle("eth_getBlockByHash", whole(r.Block))
	n.Handle("trace_transaction", whole(r.Parity))
	n.Handle("debug_traceTransaction", func(p []json.RawMessage) (json.RawMessage, error) {
		switch text := string(slices.Concat(p...)); {
		case strings.Contains(text, "callTracer") && r.Trace != nil:
			return r.Trace, nil
		case strings.Contains(text, `"diffMode":true`) && r.Diff != nil:
			return r.Diff, nil
		}
		return nil, errNoMethod
	})
	n.Handle("eth_call", r.call)
	n.Handle("eth_getCode", func(p []json.RawMessage) (json.RawMessage, error) { return r.account(r.Code, p) })
	return n.Start(t)
}

func (r *reported) call(p []json.RawMessage) (json.RawMessage, error) {
	var q struct{ To, Input, Data string }
	if err := json.Unmarshal(p[0], &q); err != nil {
		return nil, err
	}
	for key, answer := range r.Calls {
		to, selector, _ := strings.Cut(strings.ToLower(key), ":")
		if to == strings.ToLower(q.To) && strings.HasPrefix(strings.ToLower(q.Input+q.Data), selector) {
			if string(answer) == "null" {
				return nil, &stubnode.RPCError{Code: 3, Message: "execution reverted"}
			}
			return answer, nil
		}
	}
	if strings.EqualFold(q.To, "0xca11bde05977b3631167028862be2a173976ca11") || r.State {
		return json.RawMessage(`"0x"`), nil
	}
	return nil, stubnode.ErrNoState
}

func (r *reported) account(of map[string]json.RawMessage, p []json.RawMessage) (json.RawMessage, error) {
	for a, v := range of {
		if strings.EqualFold(`"`+a+`"`, string(p[0])) {
			return v, nil
		}
	}
	if r.State {
		return json.RawMessage(`"0x"`), nil
	}
	return nil, stubnode.ErrNoState
}

// explain analyses the transaction by the rules alone.
func (r *reported) explain(t *testing.T) *api.Result {
	t.Helper()
	client, err := upstream.New(upstream.Config{RPCOnly: true, SourcesOff: true, Retries: -1,
		Endpoints: map[uint64][]string{r.ChainID: {r.node(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := analysis.New(analysis.Options{SourcesOff: true})
	defer e.Close()
	m := &meter.Meter{}
	res, err := e.Explain(context.Background(), analysis.Input{World: client.Session(m, nil), Meter: m,
		Request: api.Request{TxHash: r.hash(t), ChainID: r.ChainID}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// told is the headline of a result with its type and risks, in one line.
func told(res *api.Result) string {
	kind := "none"
	if res.TxType != nil {
		kind = string(*res.TxType)
	}
	s := fmt.Sprintf("%s %s/%s: %s", res.Status, kind, res.SubType, res.Summary)
	for _, risk := range res.Risks {
		s += " | " + risk
	}
	return s
}

// TestReportedNeighbours: transactions beside those of bug reports, which are told right,
// keep their headline, type and risks.
func TestReportedNeighbours(t *testing.T) {
	names, all := reportedIn(t, "twins")
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, told(all[name].explain(t)))
	}
	golden.Compare(t, "testdata/reported_neighbours.txt", []byte(b.String()))
}

// reportedCases returns a check of what is rendered of the result of one case.
func reportedCases(t *testing.T, render func(*api.Result) string) func(name, want string) {
	_, all := reportedIn(t, "cases")
	return func(name, want string) {
		t.Helper()
		r := all[name]
		if r == nil {
			t.Errorf("no file %s", name)
			return
		}
		if got := render(r.explain(t)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestReported: what transactions of bug reports are told as.
func TestReported(t *testing.T) {
	f := reportedCases(t, told)
	f("decrease_allowance", "success approval/: Reduced the allowance of 0x13ac…3edf by 50 USDC to 100 USDC")
	f("decrease_approval", "success approval/: Reduced the allowance of 0x13ac…3edf by 50 USDC to 100 USDC")
	f("deposit_event_no_wrapper", "success other/contract_call: Called function 0xf57d585b of 0x6463…7754; no tokens moved")
	f("withdrawal_event_no_wrapper", "success other/contract_call: Called leave of 0x6463…7754; no tokens moved")
	f("failed_deposit_not_wrap", `reverted other/contract_call: Failed attempt to call deposit of 0x4201…d4d9: reverted: "staking is closed"`)
	f("fee_token_burn", `success transfer/: Sent 98 "DFL" (0x2974…b65e) to 0x8146…c668; 2 "DFL" burnt by the token`)
	f("fee_token_logged", `success transfer/: Sent 95 "TAX" (0x7ecf…37ed) to 0x8146…c668; 5 "TAX" went to the token as a fee`)
	f("memo_on_arbitrum", `success transfer/: Sent 1 ETH with the message "hello there, friend" to 0x8146…c668`)
	f("message_on_arbitrum", `success other/data: Sent the message "gm, please send back what you found" to 0x8146…c668`)
	f("message_on_zksync", `success other/data: Sent the message "hello there, friend" to 0x8146…c668`)
	f("revert_cut_off", `reverted other/contract_call: Failed attempt to call withdraw of 0x15c4…576e: reverted with a reason that is cut off: "cut off"`)
	f("trace_without_error", `reverted transfer/: Failed attempt to send 5 USDC to 0x8146…c668: in 0x6796…9301, reverted: "ERC20: transfer amount exceeds balance"`)
	f("trace_without_error_custom", `reverted other/contract_call: Failed attempt to call withdraw of 0x15c4…576e: reverted with InsufficientBalance(balance 5, needed 9)`)
	f("symbol_bytes32_full", "success transfer/: Sent 3 0xa680…4247 to 0x8146…c668")
	f("symbol_reverts", "success transfer/: Sent 3 0xa15b…0da6 to 0x8146…c668")
	f("transfer_returns_false", `success transfer/: Called transfer of "OLD" token (0x3a47…de36); the token refused: it returned false; no tokens moved`)
	f("delegate_child_wrong_from", "success other/claim: Claimed 2 ETH")
	f("selfdestruct_stale", "success other/payment: Paid 1 ETH to 0x6958…2604")
	f("setcode_reverted", `reverted other/contract_call: Failed attempt to call initialize of 0x5ca6…8455: reverted: "not allowed"; `+
		"what remains: 0x5ca6…8455 runs the code of 0x93fd…7602 from now on"+
		" | account_delegation: an EIP-7702 authorization names the code of 0x93fd…7602, unlabelled; code that an account runs may move all it holds")
	f("safe_rejection", "success other/safe: Rejected a queued transaction by using up its nonce and moved nothing, for Safe 0x2dd5…4cba")
	f("safe_zero_send", "success transfer/: Sent 0 ETH to 0x8146…c668, by a call without data, for Safe 0x2dd5…4cba")
	f("nested_safe", "success transfer/: Sent 2,500 USDC to 0x8146…c668, for Safe 0x95f2…de16")
	f("forwarder_2771", `success transfer/: Sent 10 "GSL" (0xb3ce…4e42) to 0x8146…c668, for 0x2f3b…dbb1`)
	f("meta_transaction", "success transfer/: Sent 10 USDC.e to 0x8146…c668, for 0x2f3b…dbb1")
	f("multisig_submit_only", "success other/multisig: Submitted transaction 12 to multisig wallet 0xbcaf…d4b0, "+
		"to send 9,000 USDC to 0x8146…c668; nothing moved yet")
	f("wash_back_and_forth", "success swap/: Traded back and forth, 6 trades over 1 pool: gave 29.8204 WETH in all, got 29.6414 WETH back "+
		"and lost 0.178922 WETH, with contract 0x74ec…1f1e")
	f("userop_event_only", "success other/contract_call: Called function 0xdeadbeef of 0xe6c4…b372; no tokens moved, for smart account 0x8681…d9fd")
	for _, name := range []string{"userop_failed_inner", "userop_failed_reason_v07"} {
		f(name, `success transfer/: User operation failed: reverted: "ERC20: transfer amount exceeds balance"; `+
			"attempted to send 7 USDC to 0x8146…c668, for smart account 0x8681…d9fd"+
			` | caught_inner_failure: a call to 0x8681…d9fd, function execute failed and the transaction went on: `+
			`reverted: "ERC20: transfer amount exceeds balance"`+
			" | inner_failure: the user operation failed although the transaction succeeded")
	}
	f("userop_unknown_call", "success other/contract_call: Called function 0xdeadbeef of 0xe6c4…b372; no tokens moved, for smart account 0x8681…d9fd")
	f("userop_token_paymaster", "success transfer/: Sent 7 USDC to 0x8146…c668, for smart account 0x8681…d9fd; paid 0.05 USDC for gas to 0xf2f3…74bf")
	f("celo_cip64", "success transfer/: Sent 10 USDm to 0x8146…c668")
	f("celo_native_fee_in_token", "success transfer/: Sent 3 CELO to 0x8146…c668")
	f("celo_failed_fee_in_token", `reverted transfer/: Failed attempt to send 10 USDm to 0x8146…c668: reverted: "transfer value exceeded balance of sender"`)
	f("kaia_fee_payer", "success transfer/: Sent 2 KAIA to 0x8146…c668")
	f("ethermint_create_to_zero", "success deployment/: Deployed contract 0xcfda63b873be5d96492e75928a1620592a899a90 with 2 bytes of code")
	f("transfer_logged_twice", `success transfer/: Sent 3 "TWX" (0xb33c…cf5f) to 0x8146…c668`)
	f("burn_logged_twice", `success other/burn: Burnt 3 "TWC" (0x3f8d…208d)`)
	f("erc20_approval_indexed", `success approval/: Allowed 0x13ac…3edf to spend 250 "IDY" (0xf48a…1e2e)`)
	f("erc20_value_indexed", `success transfer/: Sent 5 "IDX" (0xf6b3…763c) to 0x8146…c668`)
	f("nft_id_unindexed", "success transfer/: Sent NFT 811 of 0x4446…de1a to 0x8146…c668")
	f("erc1155_to_its_contract", "success transfer/: Sent 3 of 0x32ed…4f6d id 5 to 0x32ed…4f6d | stuck_value: 3 of 0x32ed…4f6d id 5 was sent to the token contract itself")
	f("nft_to_its_contract", "success transfer/: Sent NFT 9 of 0xf57d…bfd0 to 0xf57d…bfd0 | stuck_value: NFT 9 of 0xf57d…bfd0 was sent to the token contract itself")
	f("erc223_only_event", `success transfer/: Sent 5 "T223" (0x866d…3ec3) to 0x8146…c668`)
	f("erc404_transfer", `success transfer/: Sent 2 "HYB" (0xb686…8bce), NFT 501 of "HYB" and NFT 502 of "HYB" to 0x8146…c668`)
	f("dstoken_mint", "success other/mint: Minted 100 SAI")
	f("vault_shares_without_transfer", "success other/vault_deposit: Deposited 1,000 DAI into Maker for 950 sDAI")
}

// TestReportedBalances: what the sender of a reported transaction has more or less of at the
// end, in tokens.
func TestReportedBalances(t *testing.T) {
	f := reportedCases(t, senderTokens)
	f("transfer_logged_twice", "-3 TWX")
	f("burn_logged_twice", "-3 TWC")
	f("erc20_value_indexed", "-5 IDX")
	f("nft_id_unindexed", "-1 #811")
	f("erc223_only_event", "-5 T223")
	f("erc404_transfer", "-2 HYB, -1 HYB #501, -1 HYB #502")
	f("dstoken_mint", "+100 SAI")
	f("vault_shares_without_transfer", "-1000 DAI, +950 sDAI")
	f("erc1155_to_its_contract", "-3 #5")
	f("nft_to_its_contract", "-1 #9")
}

// senderTokens are the changes of the sender, without the native coin.
func senderTokens(res *api.Result) string {
	var list []string
	for _, c := range res.BalanceChanges {
		for _, x := range c.Tokens {
			if !c.IsSender || x.TokenAddress == (api.Addr{}) {
				continue
			}
			s := x.Balance
			if !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "+") {
				s = "+" + s
			}
			if x.TokenSymbol != "" {
				s += " " + x.TokenSymbol
			}
			if x.TokenID != nil {
				s += " #" + *x.TokenID
			}
			list = append(list, s)
		}
	}
	return strings.Join(list, ", ")
}

// TestReportedFees: who paid what for the execution, by the steps of a transaction.
func TestReportedFees(t *testing.T) {
	_, all := reportedIn(t, "cases")
	f := func(name string, want ...string) {
		t.Helper()
		r := all[name]
		if r == nil {
			t.Errorf("no file %s", name)
			return
		}
		var got []string
		for _, s := range r.explain(t).StepsDetail {
			if s.Kind != "fee" && s.Kind != "userop" {
				continue
			}
			x := s.Kind + " " + s.Actor.String()[:6]
			for _, amount := range s.Amounts {
				x += " " + amount.RawAmount + " " + amount.TokenSymbol
			}
			got = append(got, x)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, want)
		}
	}
	f("celo_cip64", "fee 0x2f3b 300000000000000 USDm")
	f("celo_native_fee_in_token", "fee 0x2f3b 300000000000000 USDm")
	f("celo_failed_fee_in_token", "fee 0x2f3b 300000000000000 USDm")
	f("kaia_fee_payer", "fee 0xbca2 775000000000000 KAIA")
	f("userop_token_paymaster", "fee 0x8681 50000 USDC", "userop 0x8681 1000000000000000 ETH", "fee 0xd791 7000000000000000 ETH")
	f("safe_rejection_refund", "fee 0x2dd5 65000000000000 ETH", "fee 0x2a4e 1800000000000000 ETH")
}
