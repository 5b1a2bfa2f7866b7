package service

import (
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/evmsig"
	"txlens/testkit/fixture"
	"txlens/testkit/size"

	"github.com/go-json-experiment/json"
)

// sample chooses recorded transactions: every tenth, and the first of each kind.
type sample struct {
	n    int // transactions so far
	seen map[string]bool
}

// has reports whether the next transaction is in the sample. At the full size each is.
func (s *sample) has(t *testing.T, tx *fixture.Tx) bool {
	t.Helper()
	chosen := size.Full() || s.n%10 == 0
	s.n++
	for _, kind := range kinds(t, tx) {
		chosen = chosen || !s.seen[kind]
		s.seen[kind] = true
	}
	return chosen
}

// movements are the events by which tokens move; each standard has its own reader.
var movements = []common.Hash{
	evmsig.TopicTransfer, evmsig.TopicTransferSingle, evmsig.TopicTransferBatch, evmsig.TopicTransfer6909, evmsig.TopicDeposit, evmsig.TopicWithdrawal,
}

// kinds names what a transaction is: its type, its status, whether it creates a contract, and
// the standards of the tokens that it moves.
func kinds(t *testing.T, tx *fixture.Tx) []string {
	t.Helper()
	var rc struct {
		Type            string `json:"type"`
		Status          string `json:"status"`
		ContractAddress string `json:"contractAddress"`
		Logs            []struct {
			Topics []common.Hash `json:"topics"`
		} `json:"logs"`
	}
	if err := json.Unmarshal(tx.Receipt, &rc); err != nil {
		t.Fatalf("%s: receipt: %v", tx.Hash, err)
	}
	out := []string{"type " + rc.Type, "status " + rc.Status, fmt.Sprint("creates ", rc.ContractAddress != "")}
	for _, l := range rc.Logs {
		for _, topic := range movements {
			if len(l.Topics) > 0 && l.Topics[0] == topic {
				out = append(out, fmt.Sprint("moves ", topic, len(l.Topics)))
			}
		}
	}
	return out
}
