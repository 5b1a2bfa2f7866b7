package oracle

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
)

// Report is what came of the comparison of results with the oracle.
type Report struct {
	Judged map[Part]int // transactions, by part
	Faults []string
}

// Part is one of the roles that are compared.
type Part string

// The parts.
const (
	Approval Part = "approval" // owner, spender, amount
	Granted  Part = "granted"  // an approval that stands is told
	Movement Part = "movement" // the list of token transfers
	Transfer Part = "transfer" // sender, recipient, amount of each step
	Payment  Part = "payment"  // the headline of a plain payment
	Swap     Part = "swap"     // what a pool took and gave
	Trade    Part = "trade"    // what the headline says that the trader gave and got
	Fee      Part = "fee"
	Deposit  Part = "bridge deposit"
	Delivery Part = "bridge delivery"
	Loan     Part = "loan"
	Gain     Part = "gain" // what an arbitrage brought, and whom
	Value    Part = "value"
	Coin     Part = "coin" // what native coin accounts have more or less of
	Sandwich Part = "sandwich"
)

// Parts lists them.
func Parts() []Part {
	return []Part{Approval, Granted, Movement, Transfer, Payment, Swap, Trade, Fee, Deposit, Delivery, Loan, Gain, Value, Coin, Sandwich}
}

// judge compares one result.
type judge struct {
	*Case
	r     *api.Result
	n     names
	into  *Report
	parts map[Part]bool
}

// Judge compares a result with the transaction that it is of.
func (p *Report) Judge(c *Case, r *api.Result) {
	j := &judge{c, r, namesOf(r), p, map[Part]bool{}}
	j.fee()
	if c.OK {
		j.movementList()
		for i := range r.StepsDetail {
			j.step(&r.StepsDetail[i])
		}
		j.granted()
		j.payment()
		j.trade()
		j.delivery()
		j.loans()
		j.gain()
	}
	j.values()
	j.count()
}

func (j *judge) count() {
	if j.into.Judged == nil {
		j.into.Judged = map[Part]int{}
	}
	for part := range j.parts {
		j.into.Judged[part]++
	}
}

// hold notes that a part was judged, and a fault where it does not hold.
func (j *judge) hold(part Part, ok bool, format string, args ...any) {
	j.parts[part] = true
	if !ok {
		j.into.Faults = append(j.into.Faults, fmt.Sprintf("%s: %s: %s", j.Hash, part, fmt.Sprintf(format, args...)))
	}
}

// logOf is the only log of a kind that a step refers to.
func (j *judge) logOf(s *api.StepDetail, kind func(*Log) bool) *Log {
	var found *Log
	for i := range j.Logs {
		if l := &j.Logs[i]; slices.Contains(s.Refs.LogIndexes, l.Index) && kind(l) {
			if found != nil {
				return nil
			}
			found = l
		}
	}
	return found
}

func (j *judge) step(s *api.StepDetail) {
	switch s.Kind {
	case "approval":
		j.approval(s)
	case "transfer":
		j.transfer(s)
	case "swap":
		j.swap(s)
	case "bridge_out", "bridge_in":
		j.crossing(s)
	}
}

var (
	allowed  = regexp.MustCompile(`^(.+) allowed (.+) to spend (.+)\.$`)
	revoked  = regexp.MustCompile(`^(.+) revoked the (.+) allowance of (.+)\.$`)
	operator = regexp.MustCompile(`^(.+) (?:let|took back the right of) (.+?) (?:to )?move all (.+?)(?: it holds)?\.$`)
)

// approval: the owner allows, the spender is allowed, and the amount is that of the log.
func (j *judge) approval(s *api.StepDetail) {
	l := j.logOf(s, func(l *Log) bool {
		return l.is("Approval(address,address,uint256)", 2) || l.is("ApprovalForAll(address,address,bool)", 2)
	})
	if l == nil {
		return
	}
	owner, spender := address(l.Topics[1]), address(l.Topics[2])
	j.hold(Approval, s.Actor != nil && *s.Actor == owner, "%v is not the owner %v", s.Actor, owner)
	if m := operator.FindStringSubmatch(s.Text); m != nil {
		j.hold(Approval, j.n.same(m[1], owner) && j.n.same(m[2], spender), "%q: owner %v, operator %v", s.Text, owner, spender)
		return
	}
	for _, pattern := range []*regexp.Regexp{allowed, revoked} {
		m := pattern.FindStringSubmatch(s.Text)
		if m == nil {
			continue
		}
		told, amount := m[2], l.word(0)
		if pattern == revoked {
			told = m[3]
		}
		j.hold(Approval, j.n.same(m[1], owner) && j.n.same(told, spender), "%q: owner %v, spender %v", s.Text, owner, spender)
		j.hold(Approval, len(s.Amounts) == 1 && s.Amounts[0].RawAmount == amount.String() && s.Amounts[0].TokenAddress == l.Address,
			"%+v, want %v of %v", s.Amounts, amount, l.Address)
		j.hold(Approval, (pattern == revoked) == (amount.Sign() == 0) && (pattern == revoked || j.tellsAllowance(m[3], amount, l.Address)),
			"%q: amount %v", s.Text, amount)
	}
}

func (j *judge) tellsAllowance(text string, amount *big.Int, token api.Addr) bool {
	if strings.HasPrefix(text, "unlimited ") {
		return amount.BitLen() > 90
	}
	_, ok := tells(text, amount, decimalsOf(j.r, token))
	if s := j.symbolDecimals(token); !ok && s != "" {
		_, ok = tells(text, amount, s)
	}
	return ok
}

// symbolDecimals are the decimals that a typed amount of the token shows.
func (j *judge) symbolDecimals(token api.Addr) string {
	for _, s := range j.r.StepsDetail {
		for _, a := range s.Amounts {
			if a.TokenAddress != token || a.Amount == nil || a.RawAmount == "0" {
				continue
			}
			raw, _ := new(big.Rat).SetString(a.RawAmount)
			whole, ok := new(big.Rat).SetString(*a.Amount)
			for d := int64(0); ok && d < 40; d++ {
				if new(big.Rat).Quo(raw, new(big.Rat).SetInt(power(d))).Cmp(whole) == 0 {
					return strconv.FormatInt(d, 10)
				}
			}
		}
	}
	return ""
}

// granted: an allowance that was given and none of which was used is told.
func (j *judge) granted() {
	last := map[[3]api.Addr]*Log{}
	for i := range j.Logs {
		if l := &j.Logs[i]; l.is("Approval(address,address,uint256)", 2) && len(l.Data) == 32 {
			last[[3]api.Addr{l.Address, address(l.Topics[1]), address(l.Topics[2])}] = l
		}
	}
	for key, l := range last {
		used := slices.ContainsFunc(j.movements(), func(m movement) bool { return m.token == key[0] && m.from == key[1] })
		if used || l.word(0).Sign() == 0 || key[1] != j.From {
			continue
		}
		j.hold(Granted, slices.ContainsFunc(j.r.StepsDetail, func(s api.StepDetail) bool {
			return s.Kind == "approval" && slices.Contains(s.Refs.LogIndexes, l.Index)
		}), "no step tells that %v allowed %v to spend %v of %v", key[1], key[2], l.word(0), key[0])
	}
	j.grantHeadline()
}

// grantHeadline: the headline of a transaction that approves and does nothing else names the
// spender.
func (j *judge) grantHeadline() {
	if len(j.Logs) != 1 || !strings.HasPrefix(string(j.Input), selector("approve(address,uint256)")) ||
		!j.Logs[0].is("Approval(address,address,uint256)", 2) || j.Logs[0].Address != j.To {
		return
	}
	l := &j.Logs[0]
	text := strings.ToLower(j.r.Summary[:1]) + j.r.Summary[1:] + "."
	m := allowed.FindStringSubmatch("x " + text)
	told := 2
	if l.word(0).Sign() == 0 {
		m, told = revoked.FindStringSubmatch("x "+text), 3
	}
	j.hold(Granted, m != nil && j.n.same(m[told], address(l.Topics[2])), "%q: spender %s", j.r.Summary, l.Topics[2])
	j.hold(Granted, m == nil || told == 3 || j.tellsAllowance(m[3], l.word(0), l.Address), "%q: amount %v", j.r.Summary, l.word(0))
	j.hold(Granted, j.r.TxType != nil && *j.r.TxType == api.TypeApproval, "type %v", j.r.TxType)
}

// movementList: the token transfers are those of the logs.
func (j *judge) movementList() {
	at := map[uint64]*api.TokenTransfer{}
	for i := range j.r.TokenTransfers {
		if t := &j.r.TokenTransfers[i]; t.Type == "erc20" {
			at[t.LogIndex] = t
		}
	}
	for _, m := range j.movements() {
		t := at[m.log.Index]
		j.hold(Movement, t != nil && t.From == m.from && t.To == m.to && t.TokenAddress == m.token && t.Total == m.amount.String(),
			"log %d: %+v", m.log.Index, t)
	}
}

var sent = regexp.MustCompile(`^(.+) sent (.+) to (.+?)(?: \(\d+ times\))?\.$`)

// transfer: who had it sends, who got it receives.
func (j *judge) transfer(s *api.StepDetail) {
	m := sent.FindStringSubmatch(s.Text)
	if m == nil || len(s.Amounts) != 1 {
		return
	}
	if len(s.Refs.LogIndexes) == 0 {
		j.coinTransfer(s, m)
		return
	}
	l := j.logOf(s, func(l *Log) bool { return len(l.Topics) == 3 && l.Topics[0] == transferTopic && len(l.Data) == 32 })
	if l == nil || len(s.Refs.LogIndexes) > 1 {
		return
	}
	from, to := address(l.Topics[1]), address(l.Topics[2])
	j.hold(Transfer, s.Actor != nil && *s.Actor == from && s.Amounts[0].RawAmount == l.word(0).String() &&
		s.Amounts[0].TokenAddress == l.Address,
		"%q: %v of %v from %v", s.Text, l.word(0), l.Address, from)
	j.hold(Transfer, j.n.same(m[1], from) && (j.n.same(m[3], to) || m[3] == "itself" && from == to),
		"%q: from %v to %v", s.Text, from, to)
	_, ok := tells(m[2], l.word(0), decimalsOf(j.r, l.Address))
	j.hold(Transfer, ok, "%q: %v", s.Text, l.word(0))
}

// coinTransfer: native coin that a step tells of was paid so by a call.
func (j *judge) coinTransfer(s *api.StepDetail, m []string) {
	if !j.traced || s.Amounts[0].TokenAddress != (api.Addr{}) || strings.HasSuffix(s.Text, "times).") {
		return
	}
	paid := slices.ContainsFunc(j.payments, func(p payment) bool {
		_, ok := tells(m[2], p.wei, "18")
		return ok && p.wei.String() == s.Amounts[0].RawAmount && s.Actor != nil && *s.Actor == p.from &&
			j.n.same(m[1], p.from) && j.n.same(m[3], p.to)
	})
	j.hold(Transfer, paid, "%q: no call paid that", s.Text)
}

var sentHeadline = regexp.MustCompile(`^Sent (.+?) to ([^;]+?)(?:, for .+)?$`)

// payment: the headline of a transaction that only pays says how much and to whom.
func (j *judge) payment() {
	to, amount, token := j.To, j.Value, api.Addr{}
	moves := j.movements()
	switch {
	case len(j.Logs) == 0 && len(j.Input) == 0 && j.Value.Sign() > 0 && (!j.traced || len(j.payments) == 1):
	case len(j.Logs) == 1 && len(moves) == 1 && j.Value.Sign() == 0 && moves[0].token == j.To && moves[0].from == j.From &&
		strings.HasPrefix(string(j.Input), selector("transfer(address,uint256)")):
		to, amount, token = moves[0].to, moves[0].amount, moves[0].token
	default:
		return
	}
	if to == j.From || to == (api.Addr{}) {
		return
	}
	m := sentHeadline.FindStringSubmatch(j.r.Summary)
	if m == nil {
		j.hold(Payment, j.r.TxType != nil && *j.r.TxType != api.TypeTransfer, "%q: %v to %v", j.r.Summary, amount, to)
		return
	}
	_, ok := tells(m[1], amount, decimalsOf(j.r, token))
	j.hold(Payment, ok && j.n.same(m[2], to), "%q: %v of %v to %v", j.r.Summary, amount, token, to)
}

// fee: the sender pays the gas, and the first layer's share.
func (j *judge) fee() {
	f := j.r.Fee
	if f == nil || j.GasPrice == nil || j.GasPrice.Sign() == 0 {
		return
	}
	wei := new(big.Int).Mul(j.GasUsed, j.GasPrice)
	j.hold(Fee, f.Payer == j.From, "payer %v, sender %v", f.Payer, j.From)
	j.hold(Fee, f.ExecutionWei == wei.String(), "execution %s, want %v", f.ExecutionWei, wei)
	if f.BlobWei != "" || f.OperatorWei != "" {
		return
	}
	wei.Add(wei, j.L1Fee)
	j.hold(Fee, f.TotalWei == wei.String(), "total %s, want %v", f.TotalWei, wei)
	for i := range j.r.StepsDetail {
		s := &j.r.StepsDetail[i]
		who, rest, ok := strings.Cut(s.Text, " paid a fee of ")
		if s.Kind != "fee" || !ok {
			continue
		}
		_, told := tells(rest, wei, "18")
		j.hold(Fee, s.Actor != nil && *s.Actor == j.From && j.n.same(who, j.From) && told && s.Amounts[0].RawAmount == wei.String(),
			"%q: %v by %v", s.Text, wei, j.From)
	}
}
