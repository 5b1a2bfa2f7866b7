package tempo

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// ErrUnknownEvent means a log of none of the reserve's events.
var ErrUnknownEvent = errors.New("event is unknown to the channel reserve")

// First topics of the reserve's events.
var (
	topicOpened    = eventTopic("ChannelOpened(bytes32,address,address,address,address,address,bytes32,bytes32,uint96)")
	topicSettled   = eventTopic("Settled(bytes32,address,address,uint96,uint96,uint96)")
	topicTopUp     = eventTopic("TopUp(bytes32,address,address,uint96,uint96)")
	topicRequested = eventTopic("CloseRequested(bytes32,address,address,uint256)")
	topicClosed    = eventTopic("ChannelClosed(bytes32,address,address,uint96,uint96)")
	topicCancelled = eventTopic("CloseRequestCancelled(bytes32,address,address)")
)

func eventTopic(signature string) common.Hash { return crypto.Keccak256Hash([]byte(signature)) }

// Event is an event of the channel reserve: one of the types of this file.
type Event interface {
	// Of says which channel the event is about.
	Of() ChannelRef
	// Log is the event's topics and data.
	Log() (topics []common.Hash, data []byte)
}

// ChannelRef is what every event of the reserve begins with.
type ChannelRef struct {
	ChannelID    common.Hash
	Payer, Payee common.Address
}

// Of implements Event.
func (r ChannelRef) Of() ChannelRef { return r }

func (r ChannelRef) topics(first common.Hash) []common.Hash {
	return []common.Hash{first, r.ChannelID, common.BytesToHash(r.Payer[:]), common.BytesToHash(r.Payee[:])}
}

// ChannelOpened has all parts of the descriptor, and the deposit.
type ChannelOpened struct {
	ChannelRef
	Operator, Token, AuthorizedSigner common.Address
	Salt, ExpiringNonceHash           common.Hash
	Deposit                           Amount
}

// Settled tells of a paid voucher; NewSettled is the sum so far.
type Settled struct {
	ChannelRef
	Cumulative, DeltaPaid, NewSettled Amount
}

// TopUp tells of a higher deposit, or of the same with Additional zero.
type TopUp struct {
	ChannelRef
	Additional, NewDeposit Amount
}

// CloseRequested starts the grace period, which ends at GraceEnd (Unix seconds).
type CloseRequested struct {
	ChannelRef
	GraceEnd uint64
}

// ChannelClosed ends a channel, by close or withdraw. SettledToPayee is the sum
// of all payments, not the last one.
type ChannelClosed struct {
	ChannelRef
	SettledToPayee, RefundedToPayer Amount
}

// CloseRequestCancelled tells that a top-up revoked the request.
type CloseRequestCancelled struct{ ChannelRef }

// Log implements Event.
func (v ChannelOpened) Log() ([]common.Hash, []byte) {
	var e encoder
	e.address(v.Operator)
	e.address(v.Token)
	e.address(v.AuthorizedSigner)
	e.hash(v.Salt)
	e.hash(v.ExpiringNonceHash)
	e.amount(v.Deposit)
	return v.topics(topicOpened), e
}

// Log implements Event.
func (v Settled) Log() ([]common.Hash, []byte) {
	return v.topics(topicSettled), amounts(v.Cumulative, v.DeltaPaid, v.NewSettled)
}

// Log implements Event.
func (v TopUp) Log() ([]common.Hash, []byte) {
	return v.topics(topicTopUp), amounts(v.Additional, v.NewDeposit)
}

// Log implements Event.
func (v CloseRequested) Log() ([]common.Hash, []byte) {
	var e encoder
	e.uint64(v.GraceEnd)
	return v.topics(topicRequested), e
}

// Log implements Event.
func (v ChannelClosed) Log() ([]common.Hash, []byte) {
	return v.topics(topicClosed), amounts(v.SettledToPayee, v.RefundedToPayer)
}

// Log implements Event.
func (v CloseRequestCancelled) Log() ([]common.Hash, []byte) { return v.topics(topicCancelled), nil }

func amounts(list ...Amount) []byte {
	var e encoder
	for _, a := range list {
		e.amount(a)
	}
	return e
}

// DecodeEvent reads a log of the reserve; that the log is the reserve's own, by
// its address, is the caller's to check. The error is ErrUnknownEvent or ErrABI.
func DecodeEvent(topics []common.Hash, data []byte) (Event, error) {
	if len(topics) != 4 {
		return nil, ErrUnknownEvent
	}
	head := &decoder{rest: append(topics[2].Bytes(), topics[3][:]...)}
	ref := ChannelRef{ChannelID: topics[1], Payer: head.address(), Payee: head.address()}
	if err := head.end(); err != nil {
		return nil, err
	}
	d := &decoder{rest: data}
	event := d.event(topics[0], ref)
	if event == nil {
		return nil, ErrUnknownEvent
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return event, nil
}

func (d *decoder) event(topic common.Hash, ref ChannelRef) Event {
	switch topic {
	case topicOpened:
		return ChannelOpened{
			ChannelRef: ref, Operator: d.address(), Token: d.address(), AuthorizedSigner: d.address(),
			Salt: d.hash(), ExpiringNonceHash: d.hash(), Deposit: d.amount(),
		}
	case topicSettled:
		return Settled{ChannelRef: ref, Cumulative: d.amount(), DeltaPaid: d.amount(), NewSettled: d.amount()}
	case topicTopUp:
		return TopUp{ChannelRef: ref, Additional: d.amount(), NewDeposit: d.amount()}
	case topicRequested:
		return CloseRequested{ChannelRef: ref, GraceEnd: d.uint64()}
	case topicClosed:
		return ChannelClosed{ChannelRef: ref, SettledToPayee: d.amount(), RefundedToPayer: d.amount()}
	case topicCancelled:
		return CloseRequestCancelled{ref}
	}
	return nil
}
