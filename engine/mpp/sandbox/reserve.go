package sandbox

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// CloseGracePeriod is how long, in seconds, a payee has between a close request and
// the payer's withdrawal.
const CloseGracePeriod = 900

// Descriptor names a channel completely. The chain does not store it: callers bring
// it, and the id made of it finds the state.
type Descriptor struct {
	Payer             common.Address `json:"payer"`
	Payee             common.Address `json:"payee"`
	Operator          common.Address `json:"operator"`
	Token             common.Address `json:"token"`
	Salt              common.Hash    `json:"salt"`
	AuthorizedSigner  common.Address `json:"authorizedSigner"`
	ExpiringNonceHash common.Hash    `json:"expiringNonceHash"`
}

func (d *Descriptor) words() []common.Hash {
	return []common.Hash{
		addressKey(d.Payer), addressKey(d.Payee), addressKey(d.Operator), addressKey(d.Token),
		d.Salt, addressKey(d.AuthorizedSigner), d.ExpiringNonceHash,
	}
}

// ID is the channel id: it commits to the descriptor, the reserve and the chain.
func (d *Descriptor) ID(chainID uint64) common.Hash {
	return crypto.Keccak256Hash(wordsOf(append(d.words(), addressKey(Reserve), wordOf64(chainID))...))
}

// signer is who must sign vouchers.
func (d *Descriptor) signer() common.Address {
	if d.AuthorizedSigner == (common.Address{}) {
		return d.Payer
	}
	return d.AuthorizedSigner
}

var (
	voucherType = crypto.Keccak256Hash([]byte("Voucher(bytes32 channelId,uint96 cumulativeAmount)"))
	domainType  = crypto.Keccak256Hash([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))
	domainName  = crypto.Keccak256Hash([]byte("TIP20 Channel Reserve"))
	domainOne   = crypto.Keccak256Hash([]byte("1"))
)

func domainSeparator(chainID uint64) common.Hash {
	return crypto.Keccak256Hash(wordsOf(domainType, domainName, domainOne, wordOf64(chainID), addressKey(Reserve)))
}

// VoucherDigest is what the signer of a voucher signs (EIP-712): the right of the
// payee to cumulative base units of the channel.
func VoucherDigest(chainID uint64, channel common.Hash, cumulative *uint256.Int) common.Hash {
	domain, content := domainSeparator(chainID), crypto.Keccak256(wordsOf(voucherType, channel, cumulative.Bytes32()))
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, domain[:], content)
}

// channel is the state of one channel. It exists while its deposit is not zero.
type channel struct {
	settled, deposit uint256.Int
	closeRequestedAt uint32
}

// pack lays a channel out as on the chain: 96 bits settled, 96 deposit, 32 time.
func (c channel) pack() (v uint256.Int) {
	v.SetUint64(uint64(c.closeRequestedAt))
	v.Lsh(&v, 96).Or(&v, &c.deposit)
	v.Lsh(&v, 96).Or(&v, &c.settled)
	return v
}

func unpackChannel(v uint256.Int) (c channel) {
	mask := new(uint256.Int).SetAllOne()
	mask.Rsh(mask, 160)
	c.settled.And(&v, mask)
	c.deposit.And(v.Rsh(&v, 96), mask)
	c.closeRequestedAt = uint32(v.Rsh(&v, 96).Uint64())
	return c
}

func (c channel) words() []common.Hash {
	return []common.Hash{wordOf(c.settled), wordOf(c.deposit), wordOf64(uint64(c.closeRequestedAt))}
}

func channelCell(id common.Hash) cell { return cell{channelSpace, Reserve, id} }

func (m *machine) channel(id common.Hash) channel { return unpackChannel(m.get(channelCell(id))) }

var (
	errChannelExists   = reverting("ChannelAlreadyExists()")
	errChannelNotFound = reverting("ChannelNotFound()")
	errNotPayer        = reverting("NotPayer()")
	errNotPayee        = reverting("NotPayeeOrOperator()")
	errInvalidPayee    = reverting("InvalidPayee()")
	errZeroDeposit     = reverting("ZeroDeposit()")
	errNoNonceHash     = reverting("ExpiringNonceHashNotSet()")
	errBadVoucher      = reverting("InvalidSignature()")
	errExceedsDeposit  = reverting("AmountExceedsDeposit()")
	errNotIncreasing   = reverting("AmountNotIncreasing()")
	errCapture         = reverting("CaptureAmountInvalid()")
	errCloseNotReady   = reverting("CloseNotReady()")
	errDepositOverflow = reverting("DepositOverflow()")
)

// Events of the reserve; channel id, payer and payee are indexed.
var (
	openedEvent         = crypto.Keccak256Hash([]byte("ChannelOpened(bytes32,address,address,address,address,address,bytes32,bytes32,uint96)"))
	settledEvent        = crypto.Keccak256Hash([]byte("Settled(bytes32,address,address,uint96,uint96,uint96)"))
	topUpEvent          = crypto.Keccak256Hash([]byte("TopUp(bytes32,address,address,uint96,uint96)"))
	closeRequestedEvent = crypto.Keccak256Hash([]byte("CloseRequested(bytes32,address,address,uint256)"))
	closedEvent         = crypto.Keccak256Hash([]byte("ChannelClosed(bytes32,address,address,uint96,uint96)"))
	closeCancelledEvent = crypto.Keccak256Hash([]byte("CloseRequestCancelled(bytes32,address,address)"))
)

const descriptorTuple = "(address,address,address,address,bytes32,address,bytes32)"

// Signatures of the functions that change a channel.
const (
	openSignature         = "open(address,address,address,uint96,bytes32,address)"
	settleSignature       = "settle(" + descriptorTuple + ",uint96,bytes)"
	topUpSignature        = "topUp(" + descriptorTuple + ",uint96)"
	closeSignature        = "close(" + descriptorTuple + ",uint96,uint96,bytes)"
	requestCloseSignature = "requestClose(" + descriptorTuple + ")"
	withdrawSignature     = "withdraw(" + descriptorTuple + ")"
)

var reserveFunctions = bySelector(map[string]function{
	openSignature:         {200_000, reserveOpen},
	settleSignature:       {60_000, reserveSettle},
	topUpSignature:        {60_000, reserveTopUp},
	closeSignature:        {70_000, reserveClose},
	requestCloseSignature: {30_000, reserveRequestClose},
	withdrawSignature:     {50_000, reserveWithdraw},

	"getChannel(" + descriptorTuple + ")": {3_000, reserveGetChannel},
	"getChannelState(bytes32)":            {2_500, reserveGetState},
	"getChannelStatesBatch(bytes32[])":    {2_500, reserveGetStates},
	"getVoucherDigest(bytes32,uint96)":    {1_000, reserveVoucherDigest},
	"domainSeparator()":                   {1_000, reserveDomain},
	"CLOSE_GRACE_PERIOD()":                {100, constant(CloseGracePeriod)},
	"VOUCHER_TYPEHASH()": {100, view(func(*machine, common.Address, *arguments) uint256.Int {
		return *new(uint256.Int).SetBytes(voucherType[:])
	})},
	"storageCredits(address)": {
		2_100,
		view(func(_ *machine, _ common.Address, a *arguments) uint256.Int { a.address(); return uint256.Int{} }),
	},
	"computeChannelId(address,address,address,address,bytes32,address,bytes32)": {1_000, reserveComputeID},
})

func (a *arguments) descriptor() (d Descriptor) {
	d.Payer, d.Payee, d.Operator, d.Token = a.address(), a.address(), a.address(), a.address()
	d.Salt, d.AuthorizedSigner, d.ExpiringNonceHash = a.word(), a.address(), a.word()
	return d
}

// emitChannel emits an event of the reserve about a channel.
func (m *machine) emitChannel(event, id common.Hash, d *Descriptor, data ...common.Hash) {
	m.emit(Reserve, event, []common.Hash{id, addressKey(d.Payer), addressKey(d.Payee)}, data...)
}

func reserveOpen(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d := Descriptor{Payer: from, ExpiringNonceHash: m.openHash}
	d.Payee, d.Operator, d.Token = a.address(), a.address(), a.address()
	deposit := a.uint(96)
	d.Salt, d.AuthorizedSigner = a.word(), a.address()
	if a.bad {
		return nil, errCalldata
	}
	if !validPayee(d.Payee, d.Operator) {
		return nil, errInvalidPayee
	}
	if m.tokens[d.Token] == nil {
		return nil, errInvalidToken
	}
	if deposit.IsZero() {
		return nil, errZeroDeposit
	}
	if d.ExpiringNonceHash == (common.Hash{}) {
		return nil, errNoNonceHash
	}
	id := d.ID(m.chainID)
	if c := m.channel(id); !c.deposit.IsZero() || m.opened[id] {
		return nil, errChannelExists
	}
	if err := m.pullDeposit(&d, deposit); err != nil {
		return nil, err
	}
	m.set(channelCell(id), channel{deposit: deposit}.pack())
	m.opened[id] = true
	m.emitChannel(openedEvent, id, &d, addressKey(d.Operator), addressKey(d.Token),
		addressKey(d.AuthorizedSigner), d.Salt, d.ExpiringNonceHash, wordOf(deposit))
	return wordsOf(id), nil
}

// validPayee: someone who can receive, and someone who can submit vouchers. A
// virtual address cannot call, so it needs an operator who can.
func validPayee(payee, operator common.Address) bool {
	if payee == (common.Address{}) || isToken(payee) {
		return false
	}
	if _, virtual := virtualMaster(payee); !virtual {
		return true
	}
	_, virtual := virtualMaster(operator)
	return operator != (common.Address{}) && !virtual
}

// pullDeposit takes tokens straight from the payer, who needs no approval for it. The policies
// look at the payer and the payee, never at the reserve (TIP-1095).
func (m *machine) pullDeposit(d *Descriptor, amount uint256.Int) error {
	target, err := m.resolve(d.Payee)
	if err != nil {
		return err
	}
	if m.forbids(d.Token, d.Payer, forbidSending) || !m.admits(d.Token, d.Payer, target) {
		return errPolicyForbids
	}
	if err := m.spend(d.Payer, d.Token, amount); err != nil {
		return err
	}
	return m.deliver(d.Token, d.Payer, Reserve, amount)
}

// existing loads the channel of a descriptor and checks who may act on it.
func (m *machine) existing(d *Descriptor, from common.Address, byPayer bool) (common.Hash, channel, error) {
	id := d.ID(m.chainID)
	c := m.channel(id)
	switch {
	case c.deposit.IsZero():
		return id, c, errChannelNotFound
	case byPayer && from != d.Payer:
		return id, c, errNotPayer
	case !byPayer && from != d.Payee && (d.Operator == (common.Address{}) || from != d.Operator):
		return id, c, errNotPayee
	}
	return id, c, nil
}

func (m *machine) checkVoucher(d *Descriptor, id common.Hash, cumulative uint256.Int, sig []byte) error {
	m.gas += 3_000
	signer, err := RecoverSigner(VoucherDigest(m.chainID, id, &cumulative), sig)
	if err != nil || signer != d.signer() {
		return errBadVoucher
	}
	return nil
}

func reserveSettle(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d, cumulative, sig := a.descriptor(), a.uint(96), a.bytes()
	if a.bad {
		return nil, errCalldata
	}
	id, c, err := m.existing(&d, from, false)
	if err != nil {
		return nil, err
	}
	if cumulative.Gt(&c.deposit) {
		return nil, errExceedsDeposit
	}
	if !cumulative.Gt(&c.settled) {
		return nil, errNotIncreasing
	}
	if err := m.checkVoucher(&d, id, cumulative, sig); err != nil {
		return nil, err
	}
	delta := *new(uint256.Int).Sub(&cumulative, &c.settled)
	if err := m.pay(&d, delta); err != nil {
		return nil, err
	}
	c.settled = cumulative
	m.set(channelCell(id), c.pack())
	m.emitChannel(settledEvent, id, &d, wordOf(cumulative), wordOf(delta), wordOf(cumulative))
	return nil, nil
}

// pay gives the payee what a voucher is worth. The payer counts as the sender for
// the token's policy: an issuer who blocks the payer blocks the payout.
func (m *machine) pay(d *Descriptor, amount uint256.Int) error {
	target, err := m.resolve(d.Payee)
	if err != nil {
		return err
	}
	if m.forbids(d.Token, d.Payer, forbidSending) || !m.admits(d.Token, d.Payer, target) {
		return errPolicyForbids
	}
	return m.deliver(d.Token, Reserve, d.Payee, amount)
}

func reserveTopUp(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d, more := a.descriptor(), a.uint(96)
	if a.bad {
		return nil, errCalldata
	}
	id, c, err := m.existing(&d, from, true)
	if err != nil {
		return nil, err
	}
	closing := c.closeRequestedAt != 0
	if more.IsZero() && !closing {
		return nil, nil
	}
	if !more.IsZero() {
		c.deposit.Add(&c.deposit, &more)
		if c.deposit.BitLen() > 96 {
			return nil, errDepositOverflow
		}
		if err := m.pullDeposit(&d, more); err != nil {
			return nil, err
		}
	}
	c.closeRequestedAt = 0
	m.set(channelCell(id), c.pack())
	if closing {
		m.emitChannel(closeCancelledEvent, id, &d)
	}
	m.emitChannel(topUpEvent, id, &d, wordOf(more), wordOf(c.deposit))
	return nil, nil
}

func reserveRequestClose(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d := a.descriptor()
	if a.bad {
		return nil, errCalldata
	}
	id, c, err := m.existing(&d, from, true)
	if err != nil || c.closeRequestedAt != 0 {
		return nil, err
	}
	c.closeRequestedAt = uint32(m.time)
	m.set(channelCell(id), c.pack())
	m.emitChannel(closeRequestedEvent, id, &d, wordOf64(m.time+CloseGracePeriod))
	return nil, nil
}

func reserveClose(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d, cumulative, capture, sig := a.descriptor(), a.uint(96), a.uint(96), a.bytes()
	if a.bad {
		return nil, errCalldata
	}
	id, c, err := m.existing(&d, from, false)
	if err != nil {
		return nil, err
	}
	if capture.Lt(&c.settled) || capture.Gt(&cumulative) {
		return nil, errCapture
	}
	if capture.Gt(&c.deposit) {
		return nil, errExceedsDeposit
	}
	if capture.Gt(&c.settled) { // nothing new to pay: no voucher needed
		if err := m.checkVoucher(&d, id, cumulative, sig); err != nil {
			return nil, err
		}
		if err := m.pay(&d, *new(uint256.Int).Sub(&capture, &c.settled)); err != nil {
			return nil, err
		}
	}
	return nil, m.end(&d, id, c, capture)
}

func reserveWithdraw(m *machine, from, _ common.Address, a *arguments) ([]byte, error) {
	d := a.descriptor()
	if a.bad {
		return nil, errCalldata
	}
	id, c, err := m.existing(&d, from, true)
	if err != nil {
		return nil, err
	}
	if c.closeRequestedAt == 0 || m.time < uint64(c.closeRequestedAt)+CloseGracePeriod {
		return nil, errCloseNotReady
	}
	return nil, m.end(&d, id, c, c.settled)
}

// end refunds what was not captured and deletes the channel, which then reads as if
// it had never been. A payer that rejects the refund keeps the channel open (TIP-1095).
func (m *machine) end(d *Descriptor, id common.Hash, c channel, captured uint256.Int) error {
	refund := *new(uint256.Int).Sub(&c.deposit, &captured)
	if !refund.IsZero() {
		if !m.admits(d.Token, Reserve, d.Payer) {
			return errPolicyForbids
		}
		if err := m.deliver(d.Token, Reserve, d.Payer, refund); err != nil {
			return err
		}
	}
	m.set(channelCell(id), uint256.Int{})
	m.emitChannel(closedEvent, id, d, wordOf(captured), wordOf(refund))
	return nil
}
