package bench

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/analysis"
	"txlens/actors/channel"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/storage"
)

// idleChannels is how many there are; the tables of the actor runtime, which grow
// once, are shared among them.
const idleChannels = 100_000

// BenchmarkIdleChannels says what a payment channel costs in memory that was used
// and is not any more: bytes of heap, and bytes of what the process has from the
// system, with the database underneath.
//
//	go test -run '^$' -bench IdleChannels -benchtime 1x ./bench
func BenchmarkIdleChannels(b *testing.B) {
	for b.Loop() {
		heap, rss := idleCost(b)
		b.ReportMetric(float64(heap)/idleChannels, "heap-B/channel")
		b.ReportMetric(float64(rss)/idleChannels, "rss-B/channel")
	}
	b.ReportMetric(0, "ns/op") // it waits most of the time
}

func idleCost(b *testing.B) (heap, rss int64) {
	store, err := storage.Open(b.TempDir(), storage.Options{ExpireEvery: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	ids := fill(b, store)
	issuer, err := mpp.NewIssuer(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	x := analysis.New(analysis.Options{})
	defer x.Close()
	c := channel.New(x.System(), channel.Options{Store: channel.StoreOf(store), Issuer: issuer})
	defer c.Close()
	heap0, rss0 := footprint(b)
	for _, id := range ids {
		if err := c.Hold(context.Background(), id, tempo.AmountFrom(1)); err != nil {
			b.Fatal(err)
		}
		if err := c.Release(context.Background(), id, tempo.AmountFrom(1)); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(25 * time.Second) // they rest after ten, at the next sweep
	heap1, rss1 := footprint(b)
	runtime.KeepAlive(ids)
	return heap1 - heap0, rss1 - rss0
}

// fill writes rows as they are after some vouchers and charges.
func fill(b *testing.B, store *storage.Store) (ids []common.Hash) {
	signature := make([]byte, 65)
	signature[0], signature[32], signature[64] = 1, 1, 27
	s, err := tempo.ParseSignature(signature)
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var entries []channel.Entry
	for range idleChannels {
		v := session.Voucher{Cumulative: tempo.AmountFrom(500_000), Signature: s}
		row := session.Channel{Status: session.Active, Deposit: tempo.AmountFrom(16_000_000), Highest: v, Spent: tempo.AmountFrom(490_000), Units: 50, CreatedAt: 1, ActiveAt: 2, OwedSince: 2}
		for at := 0; at < len(row.ID); at += 8 {
			binary.BigEndian.PutUint64(row.ID[at:], rnd.Uint64())
		}
		row.Descriptor.Salt = row.ID
		ids = append(ids, row.ID)
		if entries = append(entries, channel.Entry{Channel: &row}); len(entries) == 1000 {
			if err := store.Commit(entries...); err != nil {
				b.Fatal(err)
			}
			entries = nil
		}
	}
	return ids
}

// footprint is what lives on the heap, and what of the process is in the machine's
// memory beside the mapped database file.
func footprint(b *testing.B) (heap, rss int64) {
	for range 3 {
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("the size of a process is read from /proc")
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			rss = kb << 10
		}
	}
	return int64(m.HeapAlloc), rss
}
