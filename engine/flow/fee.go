package flow

import (
	"math/big"

	"txlens/engine/chain"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// Roles of fee recipients.
const (
	roleProducer   = "block producer"
	roleSequencer  = "sequencer fee vault"
	roleBaseFee    = "base fee vault"
	roleL1         = "L1 fee vault"
	roleOperator   = "operator fee vault"
	roleVault      = "fee vault"
	roleValidator  = "validator fee pool"
	roleL1Pricer   = "L1 pricer funds pool"
	roleBootloader = "bootloader"
	roleFromDiff   = "fee recipient"
)

// fees splits the fee and records it: payer, recipients, burnt amount.
func (c *computation) fees() {
	if c.out.Fee != nil { // known from the logs of the native token
		return
	}
	rc := c.Receipt
	switch {
	case rc == nil, c.LogsOnly:
		c.note("the receipt is missing: the fee is unknown")
		return
	case c.txType.FeeInToken:
		c.note("the fee may be paid in a token: it is not in the native ledger")
		return
	case c.txType.OutsideFrames:
		return // paid out of the ticket's escrow; native has noted it
	}
	f := newFee(c.Tx.From)
	if c.Tx.FeePayer != nil {
		f.Payer = *c.Tx.FeePayer
	}
	c.out.Fee = f
	if c.txType.ZeroFee {
		return
	}
	c.execution(f)
	c.l1Fee(f)
	c.operatorFee(f)
	c.blobFee(f)
	for _, part := range [...]*big.Int{f.Execution, f.L1, f.Operator, f.Blob} {
		f.Total.Add(f.Total, part)
	}
	c.bookFee(f)
}

func newFee(payer common.Address) *Fee {
	return &Fee{Payer: payer, Total: new(big.Int), Execution: new(big.Int), L1: new(big.Int),
		Operator: new(big.Int), Blob: new(big.Int), Burnt: new(big.Int), Unassigned: new(big.Int)}
}

// execution is the gas fee. Refunds need no care: gasUsed is net of them.
// EIP-1559: the base fee part is burnt and the producer gets the rest; before
// London the producer gets all. Rollups pay the base fee to a vault instead.
func (c *computation) execution(f *Fee) {
	gas := new(big.Int).SetUint64(c.Receipt.GasUsed)
	f.Execution.Mul(gas, c.price())
	rest := new(big.Int).Set(f.Execution)
	c.posterFee(f, rest)
	if c.Block == nil {
		f.Unassigned.Add(f.Unassigned, rest)
		c.note("the block is missing: who received the fee is unknown")
		return
	}
	base := new(big.Int)
	if c.Block.BaseFee != nil && (c.fee.BaseFeeVault != nil || c.fee.BurnsBaseFee) {
		base.Mul(gas, c.Block.BaseFee)
		if base.Cmp(rest) > 0 { // transactions of the protocol itself have price zero
			base.Set(rest)
		}
		rest.Sub(rest, base)
	}
	c.producer(f, rest)
	if c.fee.BurnsBaseFee {
		f.Burnt.Add(f.Burnt, base)
	} else {
		f.pay(c.fee.BaseFeeVault, c.role(roleBaseFee), base)
	}
}

// price is the effective gas price; old nodes omit it from the receipt.
func (c *computation) price() *big.Int {
	switch tx, rc := c.Tx, c.Receipt; {
	case rc.EffectiveGasPrice != nil:
		return rc.EffectiveGasPrice
	case tx.MaxFee != nil && tx.MaxTip != nil && c.Block != nil && c.Block.BaseFee != nil:
		p := new(big.Int).Add(c.Block.BaseFee, tx.MaxTip)
		if p.Cmp(tx.MaxFee) > 0 {
			return tx.MaxFee
		}
		return p
	case tx.GasPrice != nil:
		return tx.GasPrice
	}
	return new(big.Int)
}

// producer assigns the part of the fee that is neither burnt nor paid to a vault.
func (c *computation) producer(f *Fee, amount *big.Int) {
	switch rule := c.fee; {
	case rule.Collector != nil:
		f.pay(rule.Collector, c.role(roleSequencer), amount)
	case rule.RecipientsKnown:
		f.pay(&c.Block.Miner, roleProducer, amount)
	default:
		if c.fee.TipInLog {
			c.loggedTip(f, amount)
		}
		f.Unassigned.Add(f.Unassigned, amount)
	}
}

// loggedTip assigns the tip, which is part of amount. Bor's header names no miner, but its
// fee log names the signer of the block.
func (c *computation) loggedTip(f *Fee, amount *big.Int) {
	logs := c.Receipt.Logs
	for i := len(logs) - 1; i >= 0; i-- {
		l := &logs[i]
		if !c.nativeToken(l.Address) || len(l.Topics) != 4 || l.Topics[0] != evmsig.TopicLogFeeTransfer || len(l.Data) < 32 {
			continue
		}
		tip := evmsig.Uint(l.Data, 0)
		to := common.BytesToAddress(l.Topics[3][12:])
		if common.BytesToAddress(l.Topics[2][12:]) == f.Payer && tip.Cmp(amount) <= 0 {
			f.pay(&to, roleProducer, tip)
			amount.Sub(amount, tip)
		}
		return
	}
}

// posterFee assigns the L1 part of Arbitrum's gas, which is part of rest: its recipient is
// fixed, while that of the other part is chain state.
func (c *computation) posterFee(f *Fee, rest *big.Int) {
	if c.fee.L1GasPool == nil || c.Receipt.GasUsedForL1 == nil {
		return
	}
	poster := new(big.Int).SetUint64(min(*c.Receipt.GasUsedForL1, c.Receipt.GasUsed))
	poster.Mul(poster, c.price())
	f.pay(c.fee.L1GasPool, roleL1Pricer, poster)
	rest.Sub(rest, poster)
}

// l1Fee is what the rollup charges beside gas for its data on L1.
func (c *computation) l1Fee(f *Fee) {
	fee := c.Receipt.L1Fee
	if !c.fee.AddL1Fee || fee == nil || fee.Sign() <= 0 {
		return
	}
	if c.fee.L1FeeNeedsPrice && c.price().Sign() == 0 {
		return
	}
	f.L1.Set(fee)
	f.pay(c.fee.L1FeeVault, c.role(roleL1), fee)
}

// operatorFee follows specs.optimism.io: gas x scalar / 10^6 + constant since
// Isthmus, gas x scalar x 100 + constant since Jovian. Jovian shows in the
// header: version 1 of the fee parameters in extraData, 17 bytes.
func (c *computation) operatorFee(f *Fee) {
	scalar, constant := c.Receipt.OperatorFeeScalar, c.Receipt.OperatorFeeConstant
	if !c.fee.OperatorFee || (scalar == nil && constant == nil) {
		return
	}
	if scalar != nil && scalar.Sign() > 0 {
		f.Operator.Mul(new(big.Int).SetUint64(c.Receipt.GasUsed), scalar)
		if b := c.Block; b != nil && len(b.ExtraData) == 17 && b.ExtraData[0] == 1 {
			f.Operator.Mul(f.Operator, big.NewInt(100))
		} else {
			f.Operator.Quo(f.Operator, big.NewInt(1e6))
		}
	}
	if constant != nil && constant.Sign() > 0 {
		f.Operator.Add(f.Operator, constant)
	}
	f.pay(c.fee.OperatorFeeVault, c.role(roleOperator), f.Operator)
}

// blobFee is burnt (EIP-4844) unless the chain has a vault for it. Rollups reuse
// blobGasUsed for other things, so only blob transactions count.
func (c *computation) blobFee(f *Fee) {
	rc := c.Receipt
	if len(c.Tx.BlobHashes) == 0 || rc.BlobGasPrice == nil || rc.BlobGasPrice.Sign() <= 0 {
		return
	}
	f.Blob.Mul(new(big.Int).SetUint64(rc.BlobGasUsed), rc.BlobGasPrice)
	if c.fee.BlobFeeVault == nil {
		f.Burnt.Add(f.Burnt, f.Blob)
		return
	}
	f.pay(c.fee.BlobFeeVault, c.role(roleBaseFee), f.Blob)
}

// role returns the chain's name of a vault.
func (c *computation) role(of string) string {
	switch c.fee.CollectorIs {
	case chain.CollectorAll:
		return roleVault
	case chain.CollectorValidators:
		return roleValidator
	}
	return of
}

// pay adds to the share of a recipient; nil leaves the amount unassigned.
func (f *Fee) pay(to *common.Address, role string, amount *big.Int) {
	if amount.Sign() <= 0 {
		return
	}
	if to == nil {
		f.Unassigned.Add(f.Unassigned, amount)
		return
	}
	for i := range f.Shares {
		if f.Shares[i].Address == *to {
			f.Shares[i].Amount.Add(f.Shares[i].Amount, amount)
			return
		}
	}
	f.Shares = append(f.Shares, FeeShare{Address: *to, Role: role, Amount: new(big.Int).Set(amount)})
}

// bookFee records the split in the balances and the list of moves.
func (c *computation) bookFee(f *Fee) {
	if f.Total.Sign() <= 0 {
		return
	}
	c.restOfSender(f)
	payer := c.bal.account(f.Payer)
	payer.out.addBig(f.PaidBy(f.Payer))
	payer.touched = true
	if f.Rest.Amount != nil {
		c.bal.account(f.Rest.Address).out.addBig(f.Rest.Amount)
	}
	for i := range f.Shares {
		s := &f.Shares[i]
		a := c.bal.account(s.Address)
		a.in.addBig(s.Amount)
		a.role = s.Role
		c.out.Moves = append(c.out.Moves, Move{Kind: MoveFee, From: f.Payer, To: s.Address, Amount: new(big.Int).Set(s.Amount), Frame: -1})
	}
	for _, rest := range [...]*big.Int{f.Burnt, f.Unassigned} {
		if rest.Sign() > 0 {
			c.out.Moves = append(c.out.Moves, Move{Kind: MoveFee, From: f.Payer, Amount: new(big.Int).Set(rest), Frame: -1, NoTo: true})
		}
	}
}
