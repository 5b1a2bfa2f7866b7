package meter

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	var m Meter
	m.Add(Call{Bucket: DataCollection, Tool: "eth_call", Key: "b", Duration: 1500 * time.Microsecond, OK: true, Nano: 12_250})
	m.Add(Call{Bucket: CodeExecution, Tool: "local-replay", Key: "x", Duration: time.Second, OK: false, Nano: 5})
	m.Add(Call{Bucket: LLMs, Tool: "model", Key: "y", Nano: 3_000_000_000})
	m.Add(Call{Bucket: Other, Tool: "other", Key: "z", Nano: 1})
	m.Add(Call{Bucket: DataCollection, Tool: "eth_call", Key: "a", Duration: 7 * time.Millisecond, Nano: 1})
	c := m.Costs()
	f := func(got interface{ String() string }, want string) {
		t.Helper()
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(c.DataCollection, "0.000012251")
	f(c.CodeExecution, "0.000000005")
	f(c.LLMs, "3")
	f(c.Other, "0.000000001")
	f(c.TotalUSD, "3.000012257")
	if m.TotalNano() != 3_000_012_257 {
		t.Errorf("total %d", m.TotalNano())
	}
	var sum int64
	for _, b := range Buckets() {
		sum += m.Nano(b)
	}
	if sum != m.TotalNano() || m.Nano(CodeExecution) != 5 || CodeExecution.String() != "codeExecution" || Other.String() != "other" {
		t.Errorf("buckets sum up to %d, %s costs %d", sum, CodeExecution, m.Nano(CodeExecution))
	}
	calls := m.ToolCalls()
	if len(calls) != 5 || calls[0].DurationMs != 7 || calls[1].DurationMs != 1 || !calls[1].OK || calls[2].Tool != "local-replay" || calls[2].OK {
		t.Errorf("calls %+v", calls)
	}
}

// TestOrder: the list does not depend on which of many parallel calls came first.
func TestOrder(t *testing.T) {
	var m Meter
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			m.Add(Call{Tool: "t", Key: string(rune('a' + i)), Nano: 1, Duration: time.Duration(i) * time.Millisecond})
		}()
	}
	wg.Wait()
	for i, c := range m.ToolCalls() {
		if c.DurationMs != int64(i) {
			t.Fatalf("call %d took %d ms", i, c.DurationMs)
		}
	}
}

// TestOrderOfStarts: calls stand in the order in which they started, whichever ended
// first; those of a recording without starts come before, by tool and key.
func TestOrderOfStarts(t *testing.T) {
	var m Meter
	first, second := m.Begin(), m.Begin()
	m.Add(Call{Seq: second, Tool: "a"})
	m.Add(Call{Seq: first, Tool: "z"})
	m.Add(Call{Tool: "old", Key: "2", OK: true})
	m.Add(Call{Tool: "old", Key: "1"})
	m.Add(Call{Seq: 40, Tool: "recorded"})
	m.Add(Call{Seq: m.Begin(), Tool: "after"})
	var got string
	for _, c := range m.ToolCalls() {
		got += fmt.Sprint(c.Tool, " ", c.OK, ",")
	}
	if want := "old false,old true,z false,a false,recorded false,after false,"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none *Meter
	if none.Begin() != 0 {
		t.Error("a nil meter counts")
	}
}

// TestTicket: one of those who could book a call does, and only under its name.
func TestTicket(t *testing.T) {
	ticket := &Ticket{ID: "a1.0", Tool: "simulate", Seq: 7}
	ctx := ticket.With(t.Context())
	if TicketOf(t.Context(), "simulate") != nil || TicketOf(ctx, "local-replay") != nil || TicketOf(ctx, "simulate") != ticket {
		t.Error("the wrong ticket")
	}
	var none *Ticket
	if none.Take() || !ticket.Take() || ticket.Take() || !ticket.Taken() || TicketOf(ctx, "simulate") != nil {
		t.Error("a ticket is taken once")
	}
}

func TestNilMeter(t *testing.T) {
	var m *Meter
	m.Add(Call{Nano: 1})
	if m.TotalNano() != 0 || m.ToolCalls() != nil || m.Costs().TotalUSD.String() != "0" {
		t.Error("a nil meter counts")
	}
}
