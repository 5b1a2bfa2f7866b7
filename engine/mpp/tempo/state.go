package tempo

import (
	"fmt"
)

// ChannelState is what the chain keeps of a channel. All zeros means that the
// channel was never opened or has ended: the chain does not tell which.
type ChannelState struct {
	// Settled of Deposit went to the payee so far.
	Settled, Deposit Amount
	// CloseRequestedAt is the Unix second of the payer's request, or zero.
	CloseRequestedAt uint32
}

// Exists reports whether the channel is open on chain.
func (s ChannelState) Exists() bool { return !s.Deposit.IsZero() }

func (e *encoder) state(s ChannelState) {
	e.amount(s.Settled)
	e.amount(s.Deposit)
	e.uint64(uint64(s.CloseRequestedAt))
}

func (d *decoder) state() ChannelState {
	s := ChannelState{Settled: d.amount(), Deposit: d.amount(), CloseRequestedAt: d.uint32()}
	if s.Settled.Cmp(s.Deposit) > 0 {
		d.fail("more settled than deposited")
	}
	return s
}

// Encode is what getChannelState returns.
func (s ChannelState) Encode() []byte {
	var e encoder
	e.state(s)
	return e
}

// DecodeChannelState reads what getChannelState returned.
func DecodeChannelState(ret []byte) (ChannelState, error) {
	d := &decoder{rest: ret}
	s := d.state()
	if err := d.end(); err != nil {
		return ChannelState{}, fmt.Errorf("read channel state: %w", err)
	}
	return s, nil
}

// EncodeChannelStates is what getChannelStatesBatch returns.
func EncodeChannelStates(states []ChannelState) []byte {
	var e encoder
	e.uint64(wordSize)
	e.uint64(uint64(len(states)))
	for _, s := range states {
		e.state(s)
	}
	return e
}

// DecodeChannelStates reads what getChannelStatesBatch returned for n channels.
func DecodeChannelStates(ret []byte, n int) ([]ChannelState, error) {
	d := &decoder{rest: ret}
	d.offset(wordSize)
	if got := d.uint64(); got != uint64(n) {
		d.fail("another number of channels")
	}
	var states []ChannelState
	for ; n > 0 && d.err == nil; n-- {
		states = append(states, d.state())
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("read channel states: %w", err)
	}
	return states, nil
}

// DecodeUint64 reads a single number of up to 64 bits.
func DecodeUint64(ret []byte) (uint64, error) {
	d := &decoder{rest: ret}
	v := d.uint64()
	return v, d.end()
}
