package upstream

import (
	"context"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

// BenchmarkDebugTrace is the largest recorded trace over HTTP: parsed as it
// streams in, the same recorded, and from the record.
func BenchmarkDebugTrace(b *testing.B) {
	blocks := fixture.Blocks(b)
	var largest fixture.Tx
	var chainID uint64
	for _, blk := range blocks {
		for _, tx := range blk.Txs {
			if len(tx.Trace) > len(largest.Trace) {
				largest, chainID = tx, blk.ChainID
			}
		}
	}
	ch, hash := mustChain(b, chainID), common.HexToHash(largest.Hash)
	c := newClient(b, Config{RPCOnly: true, Endpoints: map[uint64][]string{chainID: {stubnode.New(blocks, stubnode.Options{ChainID: chainID}).Start(b)}}})
	rec := NewRecorder()
	f := func(name string, session func() *Session) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(largest.Trace)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session().DebugTrace(context.Background(), ch, hash, trace.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("live", func() *Session { return c.Session(nil, nil) })
	f("recorded", func() *Session { return c.Session(nil, NewRecorder()) })
	if _, err := c.Session(nil, rec).DebugTrace(context.Background(), ch, hash, trace.Limits{}); err != nil {
		b.Fatal(err)
	}
	f("replayed", func() *Session { return ReplaySession(rec.Bundle(), nil) })
}

// BenchmarkStateRead is the smallest call, of which a re-execution makes hundreds.
func BenchmarkStateRead(b *testing.B) {
	node := stubnode.New(nil, stubnode.Options{ChainID: 1})
	node.Handle("eth_getStorageAt", func([]rawMessage) (rawMessage, error) { return rawMessage(`"0x2a"`), nil })
	c := newClient(b, Config{RPCOnly: true, Endpoints: map[uint64][]string{1: {node.Start(b)}}})
	s := c.Session(nil, NewRecorder())
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		if _, err := s.Storage(context.Background(), mustChain(b, 1), alice, hashA, i); err != nil {
			b.Fatal(err)
		}
	}
}
