package oracle

import (
	"math/big"
	"regexp"
	"strings"

	"txlens/engine/api"
)

// place is where an event has an account: argument n of the indexed ones, from 1, or word n of
// the data, from 0; or nowhere.
type place struct {
	indexed bool
	n       int
}

var nowhere = place{n: -1}

func indexed(n int) place { return place{true, n} }
func data(n int) place    { return place{n: n} }

func (p place) of(l *Log) (a api.Addr, ok bool) {
	switch {
	case p == nowhere:
		return a, false
	case p.indexed && p.n < len(l.Topics):
		return address(l.Topics[p.n]), true
	case p.indexed || len(l.Data) < 32*p.n+32:
		return a, false
	}
	w := l.word(p.n).FillBytes(make([]byte, 32))
	if strings.Trim(string(w[:12]), "\x00") != "" {
		return a, false // an account of a chain with other addresses
	}
	copy(a[:], w[12:])
	return a, true
}

// crossings are published events of bridges, with who gave and who gets.
var crossings = map[string]struct{ depositor, recipient place }{
	// Optimism and what descends from it: https://specs.optimism.io/protocol/bridges.html
	topic("ETHDepositInitiated(address,address,uint256,bytes)"):                                                                  {indexed(1), indexed(2)},
	topic("ERC20DepositInitiated(address,address,address,address,uint256,bytes)"):                                                {indexed(3), data(0)},
	topic("ETHBridgeInitiated(address,address,uint256,bytes)"):                                                                   {indexed(1), indexed(2)},
	topic("WithdrawalInitiated(address,address,address,address,uint256,bytes)"):                                                  {indexed(3), data(0)},
	topic("DepositFinalized(address,address,address,address,uint256,bytes)"):                                                     {indexed(3), data(0)},
	topic("ETHBridgeFinalized(address,address,uint256,bytes)"):                                                                   {indexed(1), indexed(2)},
	topic("ERC20BridgeFinalized(address,address,address,address,uint256,bytes)"):                                                 {indexed(3), data(0)},
	topic("ETHWithdrawalFinalized(address,address,uint256,bytes)"):                                                               {indexed(1), indexed(2)},
	topic("ERC20WithdrawalFinalized(address,address,address,address,uint256,bytes)"):                                             {indexed(3), data(0)},
	topic("DepositETH(address,address,uint256,bytes)"):                                                                           {indexed(1), indexed(2)}, // Scroll
	topic("DepositERC20(address,address,address,address,uint256,bytes)"):                                                         {indexed(3), data(0)},
	topic("WithdrawETH(address,address,uint256,bytes)"):                                                                          {indexed(1), indexed(2)},
	topic("WithdrawERC20(address,address,address,address,uint256,bytes)"):                                                        {indexed(3), data(0)},
	topic("FinalizeDepositETH(address,address,uint256,bytes)"):                                                                   {indexed(1), indexed(2)},
	topic("FinalizeDepositERC20(address,address,address,address,uint256,bytes)"):                                                 {indexed(3), data(0)},
	topic("DepositInitiated(address,address,address,uint256,uint256)"):                                                           {indexed(1), indexed(2)}, // Arbitrum's gateways
	topic("LockedEther(address,address,uint256)"):                                                                                {indexed(1), indexed(2)}, // Polygon
	topic("LockedERC20(address,address,address,uint256)"):                                                                        {indexed(1), indexed(2)},
	topic("TransferSent(bytes32,uint256,address,uint256,bytes32,uint256,uint256,uint256,uint256)"):                               {nowhere, indexed(3)}, // Hop
	topic("TransferSentToL2(uint256,address,uint256,uint256,uint256,address,uint256)"):                                           {nowhere, indexed(2)},
	topic("DepositForBurn(uint64,address,uint256,address,bytes32,uint32,bytes32,bytes32)"):                                       {indexed(3), data(1)}, // CCTP
	topic("MintAndWithdraw(address,uint256,address)"):                                                                            {nowhere, indexed(1)},
	topic("V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)"): {indexed(3), data(6)}, // Across
	topic("OFTReceived(bytes32,uint32,address,uint256)"):                                                                         {nowhere, indexed(2)}, // LayerZero
	topic("OFTSent(bytes32,uint32,address,uint256,uint256)"):                                                                     {indexed(2), nowhere},
	topic("TokensBridged(address,address,uint256,bytes32)"):                                                                      {nowhere, indexed(2)}, // Gnosis
	topic("TokensBridgingInitiated(address,address,uint256,bytes32)"):                                                            {indexed(2), nowhere},
}

// crossing: who bridges is who gave, who receives is who gets.
func (j *judge) crossing(s *api.StepDetail) {
	l := j.logOf(s, func(l *Log) bool {
		return len(l.Topics) > 0 && crossings[l.Topics[0]] != struct{ depositor, recipient place }{}
	})
	if l == nil || s.Actor == nil {
		return
	}
	at, part, verb := crossings[l.Topics[0]].depositor, Deposit, " bridged at "
	if s.Kind == "bridge_in" {
		at, part, verb = crossings[l.Topics[0]].recipient, Delivery, " received over a bridge "
	}
	who, ok := at.of(l)
	text, _, told := strings.Cut(s.Text, verb)
	if !ok || !told {
		return // nobody in particular is named
	}
	j.hold(part, *s.Actor == who && j.n.same(text, who), "%q: it is %v", s.Text, who)
}

var delivered = regexp.MustCompile(`^Delivered (.+?) to (\S+|[^;,]+?) over [^;,]+`)

// delivery: who is said to be delivered to has more of it, and an event that names a recipient
// names no other.
func (j *judge) delivery() {
	m := delivered.FindStringSubmatch(j.r.Summary)
	if m == nil {
		return
	}
	var recipient api.Addr
	named := 0
	for i := range j.Logs {
		l := &j.Logs[i]
		if len(l.Topics) == 0 {
			continue
		}
		if c, ok := crossings[l.Topics[0]]; ok {
			if a, ok := c.recipient.of(l); ok {
				recipient = a
				named++
			}
		}
	}
	if named == 1 {
		j.hold(Delivery, j.n.same(m[2], recipient), "%q: the event names %v", j.r.Summary, recipient)
	}
	got := new(big.Int)
	if who := j.named(m[2]); who != (api.Addr{}) {
		for token, n := range j.net(who) {
			if _, ok := tells(m[1], n, j.decimals(token)); ok {
				got = n
			}
		}
		if j.traced {
			j.hold(Delivery, got.Sign() > 0, "%q: %v has %v", j.r.Summary, who, j.net(who))
		}
	}
}
