package flow

import (
	"encoding/json"
	"testing"
)

// BenchmarkCompute runs all recorded transactions through the ledger. Its floor
// is the time encoding/json needs for the same traces and receipts.
func BenchmarkCompute(b *testing.B) {
	var all []Input
	size := 0
	eachRecorded(b, func(r *recorded) {
		in := r.in
		all = append(all, in)
		size += len(r.raw.Tx) + len(r.raw.Receipt) + len(r.raw.Trace)
	})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for i := range all {
			Compute(all[i])
		}
	}
}

func BenchmarkFloorUnmarshal(b *testing.B) {
	var raw []json.RawMessage
	size := 0
	eachRecorded(b, func(r *recorded) {
		raw = append(raw, r.raw.Tx, r.raw.Receipt, r.raw.Trace)
		size += len(r.raw.Tx) + len(r.raw.Receipt) + len(r.raw.Trace)
	})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range raw {
			var v any
			if err := json.Unmarshal(m, &v); err != nil {
				b.Fatal(err)
			}
		}
	}
}
