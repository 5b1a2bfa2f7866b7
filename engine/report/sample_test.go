package report

import (
	"fmt"
	"math/big"
	"strings"

	"txlens/engine/api"
)

func addr(n int) api.Addr {
	var a api.Addr
	big.NewInt(int64(n)).FillBytes(a[:])
	a[0] = byte(0xa0 + n)
	return a
}

func ref[T any](v T) *T { return &v }

func dec(s string) *api.Decimal {
	d, ok := decimal(s)
	if !ok {
		panic(s)
	}
	return &d
}

const sampleHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

// Who takes part in the samples.
var (
	alice, router, pool, weth, usdc, builder = addr(1), addr(2), addr(3), addr(4), addr(5), addr(6)
)

func swap() *api.Result {
	call := func(index, depth int, path, kind string, from, to api.Addr, fn, wei string) api.Node {
		return api.Node{Index: index, Depth: depth, Path: path, Type: kind, From: from, To: ref(to), FunctionName: fn,
			FunctionSignature: fn + "()", Selector: "0x12345678", Input: api.Hex{0x12, 0x34, 0x56, 0x78}, ValueWei: wei, GasUsed: 21000, Status: api.NodeOK}
	}
	event := func(index, depth int, path string, from api.Addr, sig string, at uint64) api.Node {
		return api.Node{Index: index, Depth: depth, Path: path, Type: "LOG", From: from, EventSignature: ref(sig), LogIndex: ref(at), Status: api.NodeOK, ValueWei: "0",
			DecodedArgs: []api.Arg{{Name: "from", Type: "address", Value: alice.String(), Indexed: true}, {Name: "value", Type: "uint256", Value: "1500000000000000000"}}}
	}
	r := &api.Result{
		TxHash: sampleHash, Chain: "ethereum-mainnet", ChainName: "Ethereum", ExplorerBase: "https://etherscan.io", Status: api.StatusSuccess,
		AnalysisModel: api.ModelRules, Summary: "Swapped 1.5 ETH for 4,512.33 USDC through the Uniswap V3 router, at 3,008.22 USDC per ETH.",
		Steps:    []string{"alice.eth sends 1.5 ETH to Uniswap V3: SwapRouter02.", "The router wraps it into 1.5 WETH.", "The pool USDC/WETH 0.05% takes the WETH and pays 4,512.33 USDC to alice.eth, who had set a minimum of 4,490 USDC."},
		Risks:    []string{"unlimited_approval: the sender had approved the router for an unlimited amount of USDC before."},
		Protocol: ref("uniswap_v3"), TxType: ref(api.TypeSwap), Confidence: api.High,
		Addresses: []api.Address{{Address: alice, Label: "alice.eth", Role: "sender"}, {Address: router, Label: "Uniswap V3: SwapRouter02", Role: "router"}, {Address: pool, Label: "Uniswap V3: USDC/WETH 0.05%", Role: "pool"}, {Address: weth, Label: "Wrapped Ether", Role: "token"}, {Address: usdc, Label: "USD Coin", Role: "token"}, {Address: builder, Label: "beaverbuild", Role: "block producer"}},
		USDValue:  dec("4512.33"),
		Costs:     api.Costs{DataCollection: api.NanoDollars(1250000), CodeExecution: api.NanoDollars(30000), TotalUSD: api.NanoDollars(1280000)},
		ToolCalls: []api.ToolCall{{Tool: "rpc.debug_traceTransaction", DurationMs: 420, OK: true}, {Tool: "sourcify.contract", DurationMs: 90, OK: false}, {Tool: "defillama.prices", DurationMs: 130, OK: true}},
		TxMeta:    api.TxMeta{From: alice, To: ref(router), ValueWei: "0x14d1120d7b160000", BlockNumber: 21230867, BlockTimestamp: 1732104683, TransactionIndex: 12, GasUsed: 154231, GasPrice: "0x2e90edd00"},
		TokenTransfers: []api.TokenTransfer{
			{Type: "erc20", From: api.Addr{}, To: router, TokenSymbol: "WETH", TokenAddress: weth, Total: "1500000000000000000", Decimals: "18", LogIndex: 40},
			{Type: "erc20", From: pool, To: alice, TokenSymbol: "USDC", TokenAddress: usdc, Total: "4512330000", Decimals: "6", LogIndex: 41},
			{Type: "erc20", From: router, To: pool, TokenSymbol: "WETH", TokenAddress: weth, Total: "1500000000000000000", Decimals: "18", LogIndex: 42}},
		PrettyTrace: []api.Node{
			call(0, 0, "0", "CALL", alice, router, "exactInputSingle", "1500000000000000000"),
			call(1, 1, "0.0", "CALL", router, weth, "deposit", "1500000000000000000"),
			event(2, 2, "0.0", weth, "Deposit(address,uint256)", 40),
			call(3, 1, "0.1", "CALL", router, pool, "swap", "0"),
			call(4, 2, "0.1.0", "CALL", pool, usdc, "transfer", "0"),
			event(5, 3, "0.1.0", usdc, "Transfer(address,address,uint256)", 41),
			call(6, 2, "0.1.1", "STATICCALL", pool, weth, "balanceOf", "0"),
			call(7, 2, "0.1.2", "CALL", pool, router, "uniswapV3SwapCallback", "0"),
			call(8, 3, "0.1.2.0", "CALL", router, weth, "transfer", "0"),
			event(9, 4, "0.1.2.0", weth, "Transfer(address,address,uint256)", 42),
			event(10, 2, "0.1", pool, "Swap(address,address,int256,int256,uint160,uint128,int24)", 43)},
		Fee:        &api.Fee{Payer: alice, TotalWei: "1927887500000000", ExecutionWei: "1927887500000000", BurntWei: "1773656500000000", Recipients: []api.FeeRecipient{{Address: builder, Role: "block producer", Wei: "154231000000000"}}, TotalUSD: dec("5.80")},
		Provenance: &api.Provenance{TraceSource: "debug_traceTransaction", Version: "v0.1.0", PriceSource: "DefiLlama", PriceTime: 1732104600, Notes: []string{"Uniswap V3: USDC/WETH 0.05% is named by the embedded table."}},
	}
	token := func(a api.Addr, sym, balance, raw, price, value string) api.TokenChange {
		c := api.TokenChange{TokenAddress: a, TokenSymbol: sym, Balance: balance, RawSignedAmount: raw}
		if price != "" {
			c.PriceUSD, c.ValueUSD = dec(price), dec(value)
		}
		return c
	}
	r.BalanceChanges = []api.BalanceChange{
		{Address: alice, Label: "alice.eth", Role: "sender", IsSender: true, TotalUSD: dec("-5.8"), Tokens: []api.TokenChange{token(api.Addr{}, "ETH", "-1.5019278875", "-1501927887500000000", "3008.22", "-4518.13"), token(usdc, "USDC", "4512.33", "4512330000", "1", "4512.33")}},
		{Address: pool, Label: "Uniswap V3: USDC/WETH 0.05%", Role: "pool", TotalUSD: dec("0"), Tokens: []api.TokenChange{token(weth, "WETH", "1.5", "1500000000000000000", "3008.22", "4512.33"), token(usdc, "USDC", "-4512.33", "-4512330000", "1", "-4512.33")}},
		{Address: builder, Label: "beaverbuild", Role: "block producer", TotalUSD: dec("0.46"), Tokens: []api.TokenChange{token(api.Addr{}, "ETH", "0.000154231", "154231000000000", "3008.22", "0.463959")}}}
	r.StateChanges = changedState(alice, router, pool, usdc)
	return r
}

// changedState has a change of each kind, and slots with and without a name.
func changedState(alice, router, pool, usdc api.Addr) []api.StateChange {
	word := func(n uint64) string { return fmt.Sprintf("0x%064x", n) }
	slot := func(n byte) api.Hex { return append(make(api.Hex, 31), n) }
	mapping := func(kind api.SlotKind, number string, keys ...api.Hex) *api.SlotName {
		return &api.SlotName{Kind: kind, Basis: api.BasisPreimage, Mapping: number, Order: api.OrderSolidity, Keys: keys}
	}
	hash := make(api.Hex, 32)
	for i := range hash {
		hash[i] = byte(200 + i)
	}
	return []api.StateChange{
		{Address: alice, Kind: api.StateBalance, Before: "5000000000000000000", After: "3498072112500000000", Difference: "-1501927887500000000"},
		{Address: alice, Kind: api.StateNonce, Before: "1233", After: "1234", Difference: "1"},
		{Address: alice, Kind: api.StateCode, Before: "0x", After: delegation + router.String()[2:]},
		{Address: pool, Kind: api.StateStorage, Slot: slot(0), Before: "0x" + strings.Repeat("ab", 32), After: "0x" + strings.Repeat("cd", 32)},
		{Address: pool, Kind: api.StateStorage, Slot: slot(4), Before: word(70), After: word(1 << 40)},
		{Address: usdc, Kind: api.StateStorage, Slot: hash, Before: word(0), After: word(4512330000), Difference: "4512330000", Name: mapping(api.SlotBalance, "9", alice[:])},
		{Address: usdc, Kind: api.StateStorage, Slot: hash, Before: "0x" + strings.Repeat("f", 64), After: word(1000000), Difference: "-5", Name: mapping(api.SlotAllowance, "10", alice[:], router[:])},
		{Address: usdc, Kind: api.StateStorage, Slot: hash, Before: word(1), After: word(2), Name: mapping(api.SlotMapping, "17", alice[:])},
		{Address: usdc, Kind: api.StateStorage, Slot: hash, Before: word(0), After: "0x000000000000000000000000" + router.String()[2:],
			Name: &api.SlotName{Kind: api.SlotImplementation, Basis: api.BasisPublished, Standard: "EIP-1967"}},
	}
}

// failed is a swap that ran out of its price limit two calls down.
func failed() *api.Result {
	r := swap()
	r.Status, r.Attempted, r.Confidence = api.StatusReverted, true, api.Medium
	r.Summary = "Tried to swap 1.5 ETH for USDC on Uniswap V3; it failed because the pool would have paid too little (Too little received)."
	r.TokenTransfers, r.Risks, r.StateChanges = nil, nil, nil
	r.PrettyTrace = r.PrettyTrace[:9]
	for i := range r.PrettyTrace {
		r.PrettyTrace[i].Status = api.NodeReverted
	}
	r.PrettyTrace[0].Status, r.PrettyTrace[0].Error = api.NodeFailed, "reverted: Too little received"
	r.BalanceChanges = r.BalanceChanges[:1]
	r.BalanceChanges[0].Tokens = r.BalanceChanges[0].Tokens[:1]
	r.Provenance.Notes = []string{"The failure began in frame 0.", "Logs of reverted frames are not in the receipt."}
	return r
}

// partial is what is left when the node gave no trace.
func partial() *api.Result {
	r := swap()
	r.AnalysisModel, r.Confidence = api.ModelPartial, api.Low
	r.Summary = "**Partial result: the trace phase failed** (all 2 endpoints timed out). The receipt shows a transaction of alice.eth to Uniswap V3."
	r.TxType, r.Protocol, r.Steps, r.Risks, r.PrettyTrace, r.BalanceChanges, r.Fee = nil, nil, nil, nil, nil, nil, nil
	r.Provenance.TraceSource = "receipt"
	return r
}

// deep is a call tree of so many nodes that goes down, with failures late in it.
func deep(nodes int) *api.Result {
	r := swap()
	r.PrettyTrace = nil
	path := "0"
	for i := range nodes {
		depth := i % 70
		if depth == 0 {
			path = "0"
			if i > 0 {
				path = fmt.Sprintf("0.%d", i/70)
			}
		} else {
			path += ".0"
		}
		n := api.Node{Index: i, Depth: depth, Path: path, Type: "CALL", From: addr(i%40 + 1), To: ref(addr((i+1)%40 + 1)), FunctionName: "step", Selector: "0x01020304", ValueWei: "0", Status: api.NodeOK, GasUsed: uint64(i)}
		if i > 0 && depth == 0 {
			n.Depth = 1
		}
		if i%90 == 89 {
			n.Status, n.Error = api.NodeFailed, "out of gas"
		}
		r.PrettyTrace = append(r.PrettyTrace, n)
	}
	r.PrettyTraceMeta = &api.TraceMeta{OriginalNodes: 12345, KeptNodes: nodes, Markers: []api.LoopMarker{{ParentIndex: 0, AfterIndex: 3, Period: 2, Repeats: 5000, RemovedNodes: 10000, Kind: "loop"}}}
	return r
}

// nasty is what a hostile chain would like to see printed.
var nasty = []string{
	"x\n    P0->>P1: forged", "a;b#c:d", "<script>alert(1)</script>", "%%{init: {'theme':'forest'}}%%", "\x1b[31mred\x1b[0m\x9b2J", "end",
	"\u202eevil\u202c\u200b\u2066", "style:#fff;", "$$\\frac{1}{0}$$", "\"><img src=x onerror=alert(1)>", "{{.}}", "участник as P1", "\xff\xfe", strings.Repeat("W", 500),
	"a\u0301\u0301\u0301\u0301\u0301", "\u2028line", "javascript:alert(1)", "`)}]--></style>", "wrap:x", "漢字トークン",
}

// hostile has a nasty string wherever the chain can put one.
func hostile() *api.Result {
	r := swap()
	next := 0
	bad := func() string { next++; return nasty[(next-1)%len(nasty)] }
	r.Summary, r.Steps, r.Risks, r.Protocol = bad()+bad()+bad(), nasty, nasty, ref(bad())
	r.TxHash, r.ChainName, r.SubType, r.ExplorerBase = bad(), bad(), bad(), "javascript:alert(1)//"
	for i := range r.Addresses {
		r.Addresses[i].Label, r.Addresses[i].Role = bad(), bad()
	}
	for i := range r.TokenTransfers {
		t := &r.TokenTransfers[i]
		t.TokenSymbol, t.TokenName, t.Decimals, t.TokenID = bad(), bad(), bad(), bad()
	}
	for i := range r.BalanceChanges {
		b := &r.BalanceChanges[i]
		b.Label, b.Role, b.Tokens[0].TokenSymbol, b.Tokens[0].Balance, b.Tokens[0].TokenID = bad(), bad(), bad(), bad(), ref(bad())
	}
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		n.FromLabel, n.ToLabel, n.FunctionName, n.Error, n.ValueWei = bad(), bad(), bad(), bad(), bad()
		if i%2 == 0 {
			n.Status = api.NodeFailed
		}
		if n.EventSignature != nil {
			n.EventSignature = ref(bad())
		}
		n.DecodedArgs = []api.Arg{{Name: bad(), Type: bad(), Value: bad()}, {Name: bad(), Type: "tuple", Value: []api.Arg{{Name: bad(), Value: []any{bad(), bad()}}}}}
	}
	r.Contracts = []api.Contract{{Address: addr(9), Name: bad(), Description: bad()}}
	r.ToolCalls[1].Tool, r.Provenance.Notes, r.Provenance.TraceSource, r.Provenance.Version = bad(), nasty, bad(), bad()
	r.Fee.Recipients[0].Role, r.Fee.L1Wei = bad(), bad()
	return r
}
