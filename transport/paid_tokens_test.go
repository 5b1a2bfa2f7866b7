package transport

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/actors/sale"
	"txlens/engine/mpp"
	"txlens/transport/mcp"
)

// sellInTwo sells for two tokens.
func sellInTwo(t *testing.T) (*shop, common.Address) {
	t.Helper()
	second := common.Address{0xc1}
	return sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Payments.Currencies = []common.Address{second} }), second
}

// TestChallengeForEachToken: a 402 has a challenge for each token, the first one first, and
// the credential for either buys.
func TestChallengeForEachToken(t *testing.T) {
	sh, second := sellInTwo(t)
	a := sh.ask("POST", "/explain", goodBody, "Accept", eventStream)
	list, err := mpp.ParseChallenges(a.header.Values(mpp.HeaderChallenge)...)
	if err != nil || len(list) != 2 || !strings.Contains(a.body, `"challengeId":"`+list[0].ID+`"`) {
		t.Fatalf("%v, %v, %s", list, err, a.body)
	}
	var tokens []common.Address
	for i := range list {
		q, err := list[i].SessionRequest()
		if err != nil || q.Amount != unitPrice {
			t.Fatalf("%+v, %v", q, err)
		}
		tokens = append(tokens, q.Currency)
	}
	if !slices.Equal(tokens, []common.Address{terms.Currency, second}) {
		t.Errorf("tokens %v", tokens)
	}
	if joined, err := mpp.ParseChallenges(strings.Join(a.header.Values(mpp.HeaderChallenge), ", ")); err != nil || len(joined) != 2 {
		t.Errorf("joined: %v, %v", joined, err)
	}
	for i, token := range tokens {
		d := descriptor
		d.Token = token
		of := mpp.ChannelRef{ChannelID: d.ID(terms.ChainID, terms.EscrowContract), Descriptor: d}
		v := &mpp.Voucher{ChannelRef: of, CumulativeAmount: units(990_000), Signature: make([]byte, 65)}
		pay := func(ch *mpp.Challenge) answer {
			value, err := mpp.NewCredential(ch, v, mpp.Source{}).HeaderValue()
			if err != nil {
				t.Fatal(err)
			}
			return sh.ask("POST", "/explain", withContext(token.Hex()), "Accept", eventStream, "Authorization", value)
		}
		if a := pay(&list[1-i]); a.status != 402 || a.header.Get(mpp.HeaderReceipt) != "" {
			t.Errorf("a channel of the other token: %d %s", a.status, a.body)
		}
		if a := pay(&list[i]); a.status != 200 || a.header.Get(mpp.HeaderReceipt) == "" {
			t.Errorf("%s: %d %s", token, a.status, a.body)
		}
		sh.rests()
	}
	foreign := sh.s.newOffer("/explain", unitPrice)
	foreign.Request.Currency = common.Address{0xc2}
	ch, err := sh.till.issuer.Issue(foreign, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	value, err := mpp.NewCredential(ch, voucher(990_000), mpp.Source{}).HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	if a := sh.ask("POST", "/explain", goodBody, "Accept", eventStream, "Authorization", value); a.status != 402 || len(a.header.Values(mpp.HeaderChallenge)) != 2 {
		t.Errorf("another token: %d %s, %d challenges", a.status, a.body, len(a.header.Values(mpp.HeaderChallenge)))
	}
}

// TestMCPChallengeForEachToken: a tool is told all challenges, too.
func TestMCPChallengeForEachToken(t *testing.T) {
	sh, _ := sellInTwo(t)
	s := dial(t, sh.url, mcp.Versions()[0], nil)
	_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "explain_transaction", Arguments: map[string]any{"txHash": hash}})
	var rpc *jsonrpc.Error
	var data struct{ Challenges []json.RawMessage }
	if !errors.As(err, &rpc) || json.Unmarshal(rpc.Data, &data) != nil || len(data.Challenges) != 2 {
		t.Errorf("%v: %d challenges", err, len(data.Challenges))
	}
}
