package sandbox

import (
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Bounds of a log query.
const (
	maxLogs    = 10_000
	maxChoices = 1_000 // addresses, or alternatives of one topic
)

// choice is one value or a list of alternatives; empty fits everything.
type choice[T comparable] []T

// UnmarshalJSON reads null, a value or an array of values.
func (c *choice[T]) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		var many []T
		err := json.Unmarshal(text, &many)
		*c = many
		return err
	}
	if string(text) == "null" {
		return nil
	}
	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*c = choice[T]{one}
	return nil
}

func (c choice[T]) fits(v T) bool { return len(c) == 0 || slices.Contains(c, v) }

type logFilter struct {
	FromBlock string                 `json:"fromBlock"`
	ToBlock   string                 `json:"toBlock"`
	BlockHash *common.Hash           `json:"blockHash"`
	Address   choice[common.Address] `json:"address"`
	Topics    []choice[common.Hash]  `json:"topics"`
}

func (f *logFilter) fits(l *logJSON) bool {
	if !f.Address.fits(l.Address) || len(f.Topics) > len(l.Topics) {
		return false
	}
	for i, want := range f.Topics {
		if !want.fits(l.Topics[i]) {
			return false
		}
	}
	return true
}

// logs answers eth_getLogs.
func (q *query) logs() (any, error) {
	var f logFilter
	if err := q.param(0, &f); err != nil {
		return nil, err
	}
	if len(f.Topics) > 4 || len(f.Address) > maxChoices {
		return nil, badParams("the filter is too large")
	}
	for _, topic := range f.Topics {
		if len(topic) > maxChoices {
			return nil, badParams("the filter is too large")
		}
	}
	from, to, err := q.span(&f)
	if err != nil {
		return nil, err
	}
	out := []logJSON{}
	for n := from; n <= to; n++ {
		for _, r := range q.chain.blocks[n].receipts {
			for _, l := range r.logsJSON() {
				if !f.fits(&l) {
					continue
				}
				if out = append(out, l); len(out) > maxLogs {
					return nil, &Error{Code: -32005, Message: "query returned more than 10000 results"}
				}
			}
		}
	}
	return out, nil
}

// span is the range of blocks a filter asks for; the end is cut at the head.
func (q *query) span(f *logFilter) (from, to uint64, err error) {
	if f.BlockHash != nil {
		b, err := q.byHash(*f.BlockHash)
		if err != nil {
			return 0, 0, err
		}
		return b.number, b.number, nil
	}
	ends := [2]uint64{q.head().number, q.head().number}
	for i, name := range []string{f.FromBlock, f.ToBlock} {
		if name == "" {
			continue
		}
		b, err := q.byName(name)
		switch {
		case err == errNoBlock && i == 0:
			ends[i] = q.head().number + 1 // nothing yet
		case err == errNoBlock:
		case err != nil:
			return 0, 0, err
		default:
			ends[i] = b.number
		}
	}
	return ends[0], ends[1], nil
}
