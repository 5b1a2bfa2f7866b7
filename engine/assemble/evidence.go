// Package assemble turns the evidence of one transaction into a Result: join,
// flow, decode, classify, and the writing of every field. It is a pure function:
// no clock, no network, no map order; the same evidence gives the same bytes.
package assemble

import (
	"fmt"
	"strings"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/overlay"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Evidence is everything gathered about one transaction. Any part may be nil, Chain only if
// Tx is. The Result says what is missing.
type Evidence struct {
	TxHash     string
	Chain      *chain.Chain
	Tx         *ethrpc.Transaction
	Receipt    *ethrpc.Receipt
	Block      *ethrpc.Block
	Tree       *trace.Tree
	Diff       *ethrpc.StateDiff
	Codeless   *bool              // the receiver has no code; nil if not needed, or not known
	Neighbours *ethrpc.Neighbours // nil if not needed, or not available
	Contracts  map[common.Address]*decode.Contract
	Functions  map[[4]byte][]string
	Events     map[common.Hash][]string
	Tokens     map[common.Address]label.Token
	Prices     map[common.Address]Price // the zero address is the native coin
	Own        *overlay.Data            // what the user knows; nil: nothing
	SourcesOff bool                     // metadata was not requested: it lowers confidence, but is no failure
	Failed     []Failure                // phases that failed: the result is partial
	Lost       []Failure                // other evidence that is not available: noted, but the result is not partial
	Doubts     []string                 // contradictions within the evidence: confidence is low
	Notes      []string                 // what a reader should know and no field contains
	Version    string

	Triage bool         // the caller wants the checks that found nothing as well
	Views  []check.View // answers to the questions of an earlier report
}

// Price is the price of one whole token at the time of the block.
type Price struct {
	USD    api.Decimal
	Time   uint64 // Unix seconds, from the service
	Source string
}

// Failure is a phase that failed, or a piece of evidence that is not available. The result
// reports both.
type Failure struct {
	Phase  string // probe, transaction, trace, label, source, price, assemble, agent
	Reason string // no full sentence: it is shown in brackets or after a colon
}

// Pieces of evidence that a result stands without, beside the phases label, source and
// price.
const (
	LostBlock      = "block"
	LostNeighbours = "neighbours"
	LostViews      = "views"
)

// lost say what a result lacks, by phase or piece.
var lost = map[string]string{
	LostBlock:      "the header of the block could not be fetched; its time, prices, and who received the fee are not known",
	"label":        "names and decimals of tokens could not all be fetched",
	"source":       "contract sources and function names could not all be fetched",
	"price":        "prices could not all be fetched; USD values rest on trades inside the transaction or are missing",
	LostNeighbours: "the transactions around this one in its block were not compared",
	LostViews:      "not all questions of the triage to the state were answered",
}

// lostNotes describes what is missing from a result that is not partial.
func lostNotes(list []Failure) (notes []string) {
	for _, f := range list {
		text := lost[f.Phase]
		if text == "" {
			text = "the " + f.Phase + " phase failed"
		}
		notes = append(notes, text+" ("+f.Reason+")")
	}
	return notes
}

// once removes the notes that are already present.
func once(notes []string) (out []string) {
	seen := make(map[string]bool, len(notes))
	for _, n := range notes {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}

// partialSummary begins with the prefix of the interface and names what failed.
func partialSummary(failed []Failure, summary string) string {
	var names, reasons []string
	for _, f := range failed {
		names, reasons = append(names, f.Phase), append(reasons, f.Reason)
	}
	word := "phase"
	if len(failed) > 1 {
		word = "phases"
	}
	s := fmt.Sprintf("%s: the %s %s failed (%s).**", api.PartialPrefix, and(once(names)), word, strings.Join(once(reasons), "; "))
	if summary != "" {
		s += " " + summary
	}
	return s
}

// and lists names as a sentence does.
func and(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
