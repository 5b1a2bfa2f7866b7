package gethdata

import (
	"context"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// ErrNotRecorded says that the recording does not tell: the transaction never
// looked at that account or slot.
var ErrNotRecorded = errors.New("historical state is not available")

// State is the recorded state at the end of the parent block. It answers for what
// the transaction touches, an account that it touches and the recording leaves out
// being empty, and refuses everything else. It is safe for concurrent use.
type State struct {
	alloc   types.GenesisAlloc
	touched types.GenesisAlloc // with the empty accounts; keys and slots only
}

// State is the case's state.
func (c *Case) State() (*State, error) {
	run, err := c.execute()
	if err != nil {
		return nil, err
	}
	return &State{alloc: c.alloc, touched: run.touched}, nil
}

func (s *State) account(a common.Address) (types.Account, error) {
	acc, recorded := s.alloc[a]
	if _, touched := s.touched[a]; !recorded && !touched {
		return acc, ErrNotRecorded
	}
	return acc, nil
}

// Balance in wei.
func (s *State) Balance(_ context.Context, a common.Address) (*big.Int, error) {
	acc, err := s.account(a)
	if err != nil {
		return nil, err
	}
	if acc.Balance == nil {
		return new(big.Int), nil
	}
	return new(big.Int).Set(acc.Balance), nil
}

// Nonce of the account.
func (s *State) Nonce(_ context.Context, a common.Address) (uint64, error) {
	acc, err := s.account(a)
	return acc.Nonce, err
}

// Code of the account; the slice is shared.
func (s *State) Code(_ context.Context, a common.Address) ([]byte, error) {
	acc, err := s.account(a)
	return acc.Code, err
}

// Storage reads one slot.
func (s *State) Storage(_ context.Context, a common.Address, slot common.Hash) (common.Hash, error) {
	if v, ok := s.alloc[a].Storage[slot]; ok {
		return v, nil
	}
	if _, ok := s.touched[a].Storage[slot]; ok {
		return common.Hash{}, nil
	}
	return common.Hash{}, ErrNotRecorded
}
