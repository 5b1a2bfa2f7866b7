package classify

import (
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// sumCalled says what was called when nothing shows that the actor gained or lost by
// it: what the function is named after may have been done for others, or not at all.
func (a *headlineWriter) sumCalled(o *opinion) string {
	if s := a.sumIssued(o); s != "" {
		return s
	}
	if len(a.hits)+len(a.approves) > 0 || a.Tx.To == nil || !movesByName[o.act] {
		return a.sumGeneral(o, verbs[o.act], a.viaOf(o))
	}
	s := "Called " + a.functionOf(a.frame) + " of " + a.Who(a.entry)
	if a.Flow == nil || len(a.Flow.Transfers) == 0 {
		return s + ", which recorded no movement of tokens"
	}
	return s + ", by which nothing moved for the sender"
}

// movesByName are the acts that mean a movement of tokens.
var movesByName = map[act]bool{actSwap: true, actTransfer: true, actMint: true, actMintNFT: true, actBurn: true, actClaim: true, actWithdraw: true,
	actVaultIn: true, actVaultOut: true, actSupply: true, actBorrow: true, actRepay: true, actAddLiq: true, actRemoveLiq: true, actStake: true,
	actUnstake: true, actNFTSale: true, actBridgeOut: true}

func (a *headlineWriter) viaOf(o *opinion) string {
	if p := a.protocolOf(o); p != "" {
		return protocol.NameOf(p)
	}
	return ""
}

// sumIssued tells of tokens that came into being, or ceased to be, at others than the
// actor: an issuer mints for its customers.
func (a *headlineWriter) sumIssued(o *opinion) string {
	mint := o.act == actMint || o.act == actMintNFT
	if !mint && o.act != actBurn {
		return ""
	}
	if first, last, to, ok := a.batchMinted(); mint && ok {
		n := new(big.Int).Sub(last, first)
		return "Minted " + api.Thousands(n.Add(n, big.NewInt(1)).String()) + " NFTs of " + a.Symbol(a.entry) + " (" + clip(first.String()) + " … " + clip(last.String()) + ") to " + a.Who(to)
	}
	if a.Flow == nil {
		return ""
	}
	var run []*flow.Transfer
	for i := range a.Flow.Transfers {
		if t := &a.Flow.Transfers[i]; mint && t.From == (common.Address{}) || !mint && t.To == (common.Address{}) {
			run = append(run, t)
		}
	}
	verb, prep := "Minted ", " to "
	if !mint {
		verb, prep = "Burnt ", " of "
	}
	switch len(run) {
	case 0:
		return ""
	case 1:
		who := run[0].To
		if !mint {
			who = run[0].From
		}
		return verb + a.Amount(keyOf(run[0]), run[0].Amount) + prep + a.Who(who)
	}
	holders, tokens := map[common.Address]struct{}{}, map[common.Address]struct{}{}
	for _, t := range run {
		tokens[t.Token] = struct{}{}
		if mint {
			holders[t.To] = struct{}{}
		} else {
			holders[t.From] = struct{}{}
		}
	}
	what := "tokens"
	if len(tokens) == 1 {
		what = a.Symbol(run[0].Token)
	}
	return verb + what + prep + api.Count(len(holders), "address") + ", in " + api.Thousands(strconv.Itoa(len(run))) + " transfers"
}

// batchMinted reads the one ERC-2309 event of the called contract that mints a range.
func (a *Reading) batchMinted() (first, last *big.Int, to common.Address, ok bool) {
	if a.Receipt == nil {
		return nil, nil, to, false
	}
	n := 0
	for i := range a.Receipt.Logs {
		l := &a.Receipt.Logs[i]
		if f, e, from, t, is := readBatch(l); is && from == (common.Address{}) && l.Address == a.entry {
			first, last, to = f, e, t
			n++
		}
	}
	return first, last, to, n == 1
}

func readBatch(l *ethrpc.Log) (first, last *big.Int, from, to common.Address, ok bool) {
	if len(l.Topics) != 4 || l.Topics[0] != evmsig.TopicConsecutiveTransfer || len(l.Data) != 32 {
		return nil, nil, from, to, false
	}
	from, ok1 := evmsig.Address(l.Topics[2][:])
	to, ok2 := evmsig.Address(l.Topics[3][:])
	first, last = l.Topics[1].Big(), new(big.Int).SetBytes(l.Data)
	return first, last, from, to, ok1 && ok2 && last.Cmp(first) >= 0
}

// batchSteps tell of the ranges of NFTs that ERC-2309 events move.
func (a *stepWriter) batchSteps() (steps []step) {
	if a.Receipt == nil {
		return nil
	}
	for i := range a.Receipt.Logs {
		l := &a.Receipt.Logs[i]
		first, last, from, to, ok := readBatch(l)
		if !ok {
			continue
		}
		steps = append(steps, step{at: 2*i + 1, log: i + 1, text: func() string {
			n := new(big.Int).Sub(last, first)
			what := api.Thousands(n.Add(n, big.NewInt(1)).String()) + " NFTs of " + a.Symbol(l.Address) + " (" + clip(first.String()) + " … " + clip(last.String()) + ")"
			if from == (common.Address{}) {
				return what + " were minted to " + a.Who(to) + "."
			}
			return a.Who(from) + " sent " + what + " to " + a.Who(to) + "."
		}})
		if len(steps) == maxScan {
			break
		}
	}
	return steps
}

// sumBridged says what crosses. Native coin beside a token pays for the message; and
// where the bridge took in another token than the actor gave, that one crosses.
func (a *headlineWriter) sumBridged(o *opinion, via string) string {
	out, over := a.out, on("over", orBridge(via))
	for _, h := range o.hits {
		if h.act != actBridgeOut {
			continue
		}
		_, took := a.legsOf(h.emitter)
		// A token that nobody lists may be the bridge's own form of what was given.
		if took = tokensOf(took); len(took) > 0 && a.Tokens[took[0].key.Token].Listed && !a.sameAsset(took[0], out) {
			return "Bridged " + a.legs(took) + over + ", paid for with " + a.legs(out)
		}
	}
	if tokens := tokensOf(out); len(tokens) > 0 && len(tokens) < len(out) {
		return "Bridged " + a.legs(tokens) + over + ", along with " + a.legs(out[:1])
	}
	return "Bridged " + a.legs(out) + over
}

func tokensOf(legs []leg) (list []leg) {
	for _, l := range legs {
		if !l.native() {
			list = append(list, l)
		}
	}
	return list
}

func (a *headlineWriter) sumAuthorize() string {
	list := a.authorizations()
	if applied := a.sayApplied(list); len(applied) == 1 {
		return "Applied an EIP-7702 authorization: " + applied[0]
	} else if len(applied) > 1 {
		return "Applied EIP-7702 authorizations: " + strings.Join(applied, "; ")
	}
	n := api.Count(len(list), "EIP-7702 authorization")
	delegates, clears := a.delegates()
	switch {
	case len(delegates) > 0:
		return "Sent " + n + " for accounts to run the code of " + a.several(delegates)
	case clears > 0:
		return "Sent " + n + " to remove the code of " + api.Count(clears, "account")
	case len(list) == 1:
		return "Sent " + n + ", which was not applied"
	}
	return "Sent " + n + ", none of which was applied"
}

// sayTransferCall reads a token call that moves or allows tokens: "send 5 PNK to ...".
func (a Words) sayTransferCall() string {
	in := a.Tx.Input
	if a.Tx.To == nil || len(in) < 4 {
		return ""
	}
	token := *a.Tx.To
	word := func(i int) common.Address {
		if w := evmsig.Word(in[4:], i); w != nil {
			x, _ := evmsig.Address(w)
			return x
		}
		return common.Address{}
	}
	say := func(amount int) string {
		w := evmsig.Word(in[4:], amount)
		if w == nil {
			return ""
		}
		return a.Amount(leg20(token), new(big.Int).SetBytes(w))
	}
	if a.token(token).Symbol == "" || a.token(token).Decimals == nil {
		return "" // it may be an NFT
	}
	switch evmsig.Called(in) {
	case evmsig.SelTransfer:
		if n := say(1); n != "" {
			return "send " + n + " to " + a.Who(word(0))
		}
	case evmsig.SelTransferFrom:
		if n := say(2); n != "" {
			return "send " + n + " from " + a.Who(word(0)) + " to " + a.Who(word(1))
		}
	case evmsig.SelApprove:
		if n := say(1); n != "" {
			g := grant{owner: a.sender, spender: word(0), token: token, amount: new(big.Int).SetBytes(evmsig.Word(in[4:], 1))}
			g.revoke = g.amount.Sign() == 0
			return strings.Replace(strings.Replace(a.sayGrant(&g), "allowed ", "allow ", 1), "revoked ", "revoke ", 1)
		}
	}
	return ""
}
