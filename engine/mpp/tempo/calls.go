package tempo

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
)

// Facts of the channel reserve (TIP-1034).
var (
	// Escrow is the address of the channel reserve on every Tempo chain.
	Escrow = common.HexToAddress("0x4d50500000000000000000000000000000000000")
	// ErrUnknownFunction means a selector of none of the reserve's functions.
	ErrUnknownFunction = errors.New("function is unknown to the channel reserve")
)

// CloseGracePeriod is how long a payer who asked to close must wait, in seconds.
const CloseGracePeriod = 900

// maxBatch bounds the channels of one batched read.
const maxBatch = 1024

// descriptorTuple is a descriptor in a function's signature.
const descriptorTuple = "(address,address,address,address,bytes32,address,bytes32)"

// Selectors of the reserve's functions.
var (
	selectorOpen              = selectorOf("open(address,address,address,uint96,bytes32,address)")
	selectorSettle            = selectorOf("settle(" + descriptorTuple + ",uint96,bytes)")
	selectorTopUp             = selectorOf("topUp(" + descriptorTuple + ",uint96)")
	selectorClose             = selectorOf("close(" + descriptorTuple + ",uint96,uint96,bytes)")
	selectorRequestClose      = selectorOf("requestClose(" + descriptorTuple + ")")
	selectorWithdraw          = selectorOf("withdraw(" + descriptorTuple + ")")
	selectorGetChannel        = selectorOf("getChannel(" + descriptorTuple + ")")
	selectorGetChannelState   = selectorOf("getChannelState(bytes32)")
	selectorGetChannelStates  = selectorOf("getChannelStatesBatch(bytes32[])")
	selectorComputeChannelID  = selectorOf("computeChannelId(address,address,address,address,bytes32,address,bytes32)")
	selectorGetVoucherDigest  = selectorOf("getVoucherDigest(bytes32,uint96)")
	selectorDomainSeparator   = selectorOf("domainSeparator()")
	selectorCloseGracePeriod  = selectorOf("CLOSE_GRACE_PERIOD()")
	selectorVoucherTypeHash   = selectorOf("VOUCHER_TYPEHASH()")
	selectorGetStorageCredits = selectorOf("storageCredits(address)")
)

// ReserveCall is a call of the channel reserve: one of the types of this file,
// each named for its function.
type ReserveCall interface {
	// Calldata is the call's only accepted encoding.
	Calldata() []byte
}

// OpenCall opens a channel of its caller.
type OpenCall struct {
	Payee, Operator, Token common.Address
	Deposit                Amount
	Salt                   common.Hash
	AuthorizedSigner       common.Address
}

// SettleCall pays out a voucher in full.
type SettleCall struct {
	Descriptor Descriptor
	Cumulative Amount
	Signature  []byte
}

// TopUpCall adds to the deposit and revokes a request to close.
type TopUpCall struct {
	Descriptor Descriptor
	Additional Amount
}

// CloseCall ends a channel: Capture in all to the payee, the rest to the payer.
type CloseCall struct {
	Descriptor          Descriptor
	Cumulative, Capture Amount
	Signature           []byte
}

// RequestCloseCall starts the grace period.
type RequestCloseCall struct{ Descriptor Descriptor }

// WithdrawCall ends a channel after the grace period.
type WithdrawCall struct{ Descriptor Descriptor }

// GetChannelCall reads descriptor and state.
type GetChannelCall struct{ Descriptor Descriptor }

// GetChannelStateCall reads one state.
type GetChannelStateCall struct{ ChannelID common.Hash }

// GetChannelStatesCall reads many states.
type GetChannelStatesCall struct{ ChannelIDs []common.Hash }

// ComputeChannelIDCall asks for a channel's id.
type ComputeChannelIDCall struct{ Descriptor Descriptor }

// VoucherDigestCall asks for a voucher's digest.
type VoucherDigestCall struct {
	ChannelID  common.Hash
	Cumulative Amount
}

// ConstantCall reads one of the values that never change.
type ConstantCall uint8

// The constants.
const (
	DomainSeparatorCall ConstantCall = iota
	CloseGracePeriodCall
	VoucherTypeHashCall
)

// StorageCreditsCall reads how many free slots a payer has left by closing.
type StorageCreditsCall struct{ Payer common.Address }

// Calldata implements ReserveCall.
func (c OpenCall) Calldata() []byte {
	e := newEncoder(selectorOpen, 6)
	e.address(c.Payee)
	e.address(c.Operator)
	e.address(c.Token)
	e.amount(c.Deposit)
	e.hash(c.Salt)
	e.address(c.AuthorizedSigner)
	return e
}

// Calldata implements ReserveCall.
func (c SettleCall) Calldata() []byte {
	e := newEncoder(selectorSettle, 13)
	e.descriptor(&c.Descriptor)
	e.amount(c.Cumulative)
	e.uint64(9 * wordSize)
	e.bytes(c.Signature)
	return e
}

// Calldata implements ReserveCall.
func (c TopUpCall) Calldata() []byte {
	e := newEncoder(selectorTopUp, 8)
	e.descriptor(&c.Descriptor)
	e.amount(c.Additional)
	return e
}

// Calldata implements ReserveCall.
func (c CloseCall) Calldata() []byte {
	e := newEncoder(selectorClose, 14)
	e.descriptor(&c.Descriptor)
	e.amount(c.Cumulative)
	e.amount(c.Capture)
	e.uint64(10 * wordSize)
	e.bytes(c.Signature)
	return e
}

// Calldata implements ReserveCall.
func (c RequestCloseCall) Calldata() []byte { return ofDescriptor(selectorRequestClose, c.Descriptor) }

// Calldata implements ReserveCall.
func (c WithdrawCall) Calldata() []byte { return ofDescriptor(selectorWithdraw, c.Descriptor) }

// Calldata implements ReserveCall.
func (c GetChannelCall) Calldata() []byte { return ofDescriptor(selectorGetChannel, c.Descriptor) }

// Calldata implements ReserveCall.
func (c ComputeChannelIDCall) Calldata() []byte {
	return ofDescriptor(selectorComputeChannelID, c.Descriptor)
}

func ofDescriptor(s selector, d Descriptor) []byte {
	e := newEncoder(s, 7)
	e.descriptor(&d)
	return e
}

// Calldata implements ReserveCall.
func (c GetChannelStateCall) Calldata() []byte {
	e := newEncoder(selectorGetChannelState, 1)
	e.hash(c.ChannelID)
	return e
}

// Calldata implements ReserveCall.
func (c GetChannelStatesCall) Calldata() []byte {
	e := newEncoder(selectorGetChannelStates, 2+len(c.ChannelIDs))
	e.uint64(wordSize)
	e.uint64(uint64(len(c.ChannelIDs)))
	for _, id := range c.ChannelIDs {
		e.hash(id)
	}
	return e
}

// Calldata implements ReserveCall.
func (c VoucherDigestCall) Calldata() []byte {
	e := newEncoder(selectorGetVoucherDigest, 2)
	e.hash(c.ChannelID)
	e.amount(c.Cumulative)
	return e
}

// Calldata implements ReserveCall.
func (c ConstantCall) Calldata() []byte {
	return newEncoder([...]selector{selectorDomainSeparator, selectorCloseGracePeriod, selectorVoucherTypeHash}[c], 0)
}

// Calldata implements ReserveCall.
func (c StorageCreditsCall) Calldata() []byte {
	e := newEncoder(selectorGetStorageCredits, 1)
	e.address(c.Payer)
	return e
}

// DecodeReserveCall reads calldata of the reserve. It accepts exactly what
// Calldata writes: exact length, clean padding, the one layout of the tail. The
// error is ErrUnknownFunction or ErrABI.
func DecodeReserveCall(data []byte) (ReserveCall, error) {
	if len(data) < 4 {
		return nil, ErrUnknownFunction
	}
	d := &decoder{rest: data[4:]}
	call := d.reserveCall(selector(data))
	if call == nil {
		return nil, ErrUnknownFunction
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return call, nil
}

func (d *decoder) reserveCall(s selector) ReserveCall {
	switch s {
	case selectorOpen:
		return OpenCall{
			Payee: d.address(), Operator: d.address(), Token: d.address(),
			Deposit: d.amount(), Salt: d.hash(), AuthorizedSigner: d.address(),
		}
	case selectorSettle:
		c := SettleCall{Descriptor: d.descriptor(), Cumulative: d.amount()}
		d.offset(9 * wordSize)
		c.Signature = d.bytes(MaxSignatureLength)
		return c
	case selectorTopUp:
		return TopUpCall{Descriptor: d.descriptor(), Additional: d.amount()}
	case selectorClose:
		c := CloseCall{Descriptor: d.descriptor(), Cumulative: d.amount(), Capture: d.amount()}
		d.offset(10 * wordSize)
		c.Signature = d.bytes(MaxSignatureLength)
		return c
	case selectorRequestClose:
		return RequestCloseCall{d.descriptor()}
	case selectorWithdraw:
		return WithdrawCall{d.descriptor()}
	}
	return d.reserveView(s)
}

func (d *decoder) reserveView(s selector) ReserveCall {
	switch s {
	case selectorGetChannel:
		return GetChannelCall{d.descriptor()}
	case selectorGetChannelState:
		return GetChannelStateCall{d.hash()}
	case selectorGetChannelStates:
		d.offset(wordSize)
		n := d.uint64()
		if n > maxBatch {
			d.fail("too many channels")
		}
		var c GetChannelStatesCall
		for ; n > 0 && d.err == nil; n-- {
			c.ChannelIDs = append(c.ChannelIDs, d.hash())
		}
		return c
	case selectorComputeChannelID:
		return ComputeChannelIDCall{d.descriptor()}
	case selectorGetVoucherDigest:
		return VoucherDigestCall{ChannelID: d.hash(), Cumulative: d.amount()}
	case selectorDomainSeparator:
		return DomainSeparatorCall
	case selectorCloseGracePeriod:
		return CloseGracePeriodCall
	case selectorVoucherTypeHash:
		return VoucherTypeHashCall
	case selectorGetStorageCredits:
		return StorageCreditsCall{d.address()}
	}
	return nil
}
