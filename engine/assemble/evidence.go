// Package assemble turns the evidence of one transaction into a Result: join,
// flow, decode, classify, and the writing of every field. It is a pure function:
// no clock, no network, no map order; the same evidence gives the same bytes.
package assemble

import (
	"fmt"
	"strings"

	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/triage"

	"github.com/ethereum/go-ethereum/common"
)

// Evidence is everything gathered about one transaction. Chain is never nil; any
// other part may be, and the Result then says what is missing.
type Evidence struct {
	TxHash     string
	Chain      *chain.Chain
	Tx         *evidence.Transaction
	Receipt    *evidence.Receipt
	Block      *evidence.Block
	Tree       *trace.Tree
	Diff       *evidence.StateDiff
	Neighbours *evidence.Neighbours // nil where nothing called for them, or the node has them not
	Contracts  map[common.Address]*decode.Contract
	Functions  map[[4]byte][]string
	Events     map[common.Hash][]string
	Tokens     map[common.Address]label.Token
	Prices     map[common.Address]Price // the zero address is the native coin
	SourcesOff bool                     // metadata was not asked for: lowers confidence, is no failure
	Failed     []Failure                // phases that failed: the result is partial
	Notes      []string                 // what a reader should know and no field says
	Version    string

	Triage bool          // the asker wants to read what was ruled out
	Views  []triage.View // answers to what an earlier report asked
}

// Price is the price of one whole token at the time of the block.
type Price struct {
	USD    explain.Decimal
	Time   uint64 // Unix seconds the service gave
	Source string
}

// Failure is a phase that could not be done.
type Failure struct {
	Phase  string // transaction, trace, label, source, price, assemble
	Reason string
}

// partialSummary opens with the marker of the interface and names what failed.
func partialSummary(failed []Failure, summary string) string {
	parts := make([]string, len(failed))
	for i, f := range failed {
		parts[i] = fmt.Sprintf("%s (%s)", f.Phase, f.Reason)
	}
	word := "phase"
	if len(failed) > 1 {
		word = "phases"
	}
	s := fmt.Sprintf("%s: the %s %s failed.**", explain.PartialPrefix, strings.Join(parts, ", "), word)
	if summary != "" {
		s += " " + summary
	}
	return s
}
