// Package specimen reads the recorded transactions of the zoo.
package specimen

import (
	"testing"

	"txlens/engine/chain"
	"txlens/engine/gather"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Specimen is a recorded transaction of the zoo and what its node told of it.
type Specimen struct {
	Meta    upstream.Meta
	Session *upstream.Session // answers from the recording
	Chain   *chain.Chain
	Known   *gather.Facts
	Traced  *gather.TraceResult
}

// Read reads a recording.
func Read(tb testing.TB, file string) *Specimen {
	tb.Helper()
	b, err := upstream.ReadBundle(file)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Specimen{Meta: b.Meta, Session: upstream.ReplaySession(b, nil)}
	s.Chain, _ = chain.ByID(b.Meta.ChainID)
	hash := common.HexToHash(b.Meta.TxHash)
	if s.Known, err = gather.ReadFacts(tb.Context(), s.Session, s.Chain, hash); err != nil {
		tb.Fatal(err)
	}
	if s.Traced, err = gather.Trace(tb.Context(), s.Session, s.Chain, hash, gather.TraceOptions{}); err != nil {
		tb.Fatal(err)
	}
	return s
}
