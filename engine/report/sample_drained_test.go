package report

import "txlens/engine/api"

// drained is a result with a finding by the outcome, and the deals that it rests on.
func drained() *api.Result {
	at := func(b byte) (a api.Addr) {
		for i := range a {
			a[i] = b
		}
		return a
	}
	victim, thief, tool, token, partner := at(0x11), at(0x22), at(0x33), at(0x44), at(0x55)
	usdc := func(n, text string) []api.AssetAmount {
		return []api.AssetAmount{{Token: &token, Amount: n, Text: text}}
	}
	exploit := api.TypeExploit
	return &api.Result{
		TxHash: "0x" + "12", ChainName: "Ethereum", Status: api.StatusSuccess, TxType: &exploit, Summary: "Drain of 0x1111…1111",
		Addresses: []api.Address{{Address: victim, Label: "Alice"}},
		Findings: []api.Finding{{
			ID: "F1", BrokenInvariant: "An owner must not lose assets without payment.", Category: api.PhishingApproval, Severity: api.SeverityHigh,
			Confidence: api.Medium, Status: api.Probable, Victim: []api.Addr{victim}, Attacker: []api.Addr{thief, tool},
			Revoke: []api.Approval{{Owner: victim, Token: token, Spender: tool}, {Owner: victim, Token: partner, Spender: tool}},
		}},
		Dealings: &api.Dealings{
			Side: []api.Addr{thief, tool},
			Deals: []api.Deal{
				{Frame: "0.1", Target: token, Function: "transferFrom", Taken: usdc("1000000", "1 USDC")},
				{Frame: "0.2", Target: partner, Given: usdc("500000", "0.5 USDC"), Taken: usdc("7", "7 base units")},
			},
			MoreDeals: 3,
			Gained:    []api.Holding{{Account: thief, Assets: usdc("800000", "0.8 USDC")}, {Account: partner, Assets: usdc("200000", "0.2 USDC")}},
			Lost:      []api.Holding{{Account: victim, Assets: usdc("-1000000", "-1 USDC")}},
		},
	}
}
