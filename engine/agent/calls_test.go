package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/tool"
	"txlens/engine/api"
	"txlens/engine/meter"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type turns = []func(*llm.Request, func(llm.Delta)) (llm.Reply, error)

// listed are the calls of a result, each in a word: "+look" went well, "-look" did not.
func (w *world) listed() string {
	var list []string
	for _, c := range w.Meter.ToolCalls() {
		list = append(list, map[bool]string{true: "+", false: "-"}[c.OK]+c.Tool)
	}
	return strings.Join(list, " ")
}

// paired checks that each call was announced once and ended once, in this order and
// under one id, and gives the ends in the words of listed, in the order of the starts.
func (w *world) paired(t *testing.T) string {
	t.Helper()
	var order []string
	ends := map[string]string{}
	for _, e := range w.events {
		switch e.Type {
		case api.EventToolCall:
			if e.ID == "" || ends[e.ID] != "" {
				t.Errorf("id %q of %s is empty or taken", e.ID, e.Tool)
			}
			order, ends[e.ID] = append(order, e.ID), "?"+e.Tool
		case api.EventToolResult:
			if ends[e.ID] != "?"+e.Tool {
				t.Errorf("the end of %s %s, announced was %q", e.ID, e.Tool, ends[e.ID])
			}
			ends[e.ID] = map[bool]string{true: "+", false: "-"}[*e.OK] + e.Tool
		}
	}
	for i, id := range order {
		order[i] = ends[id]
	}
	return strings.Join(order, " ")
}

// TestCallsAreListedOnce: each call of the model stands once in the list, in the order
// of the starts, whatever became of it, and has one event at its start and one at its end.
func TestCallsAreListedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fake{turns: turns{
			says("slow {}", "look {}", "refuses {}", "no/such<b> {}", `engage_playbook {"name":"failed-transaction"}`, `engage_playbook {"name":"x"}`),
			says(`submit_explanation {"summary":7}`, "look {}"), says(answered, "look {}"),
		}}
		w := newWorld(t, p,
			aTool("slow", func(context.Context, jsontext.Value) (any, error) { time.Sleep(time.Minute); return 1, nil }),
			aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil }),
			aTool("refuses", func(context.Context, jsontext.Value) (any, error) { return nil, errors.New("no frame 0.9") }),
		)
		for i := range w.Tools {
			w.Tools[i].Limit = time.Hour
		}
		if _, err := Run(t.Context(), w.Options); err != nil {
			t.Fatal(err)
		}
		const first = "+slow +look -refuses -no_such_b_ +engage_playbook -engage_playbook"
		if got, want := w.listed(), "+model "+first+" +model -submit_explanation +look +model +submit_explanation"; got != want {
			t.Errorf("listed\n%s, want\n%s", got, want)
		}
		if got, want := w.paired(t), first+" -submit_explanation +look +submit_explanation"; got != want {
			t.Errorf("told\n%s, want\n%s", got, want)
		}
	})
}

// TestStoppedCallIsListed: a call that the end of the analysis cuts off has failed.
func TestStoppedCallIsListed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &fake{turns: turns{says("wait {}", "wait {}")}}
	w := newWorld(t, p, aTool("wait", func(ctx context.Context, _ jsontext.Value) (any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	w.Limits.Parallel = 1 // the second one would begin after the first
	if _, err := Run(ctx, w.Options); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := w.listed() + ", " + w.paired(t); got != "+model -wait, -wait" {
		t.Error(got)
	}
}

// TestWorkIsListedOnce: where the work of a tool is metered below it, the tool adds no
// entry and no event of its own; where it failed before, it does.
func TestWorkIsListedOnce(t *testing.T) {
	var w *world
	p := &fake{turns: turns{says("simulate {}", "simulate {}"), says(answered)}}
	n := 0
	w = newWorld(t, p, aTool("simulate", func(ctx context.Context, _ jsontext.Value) (any, error) {
		if n++; n == 1 {
			return nil, errors.New("no frame 0.9")
		}
		ticket := meter.TicketOf(ctx, "simulate")
		if !ticket.Take() {
			t.Fatal("no ticket")
		}
		c := meter.Call{Bucket: meter.CodeExecution, Seq: ticket.Seq, Tool: "simulate", OK: true, Nano: 500}
		w.Meter.Add(c)
		w.Emit(api.ToolEnded(ticket.ID, api.ToolCall{Tool: c.Tool, OK: true, CostUSD: api.NanoDollars(c.Nano)}))
		return 1, nil
	}))
	w.Limits.Parallel = 1
	if _, err := Run(t.Context(), w.Options); err != nil {
		t.Fatal(err)
	}
	if got, want := w.listed(), "+model -simulate +simulate +model +submit_explanation"; got != want || w.Meter.Nano(meter.CodeExecution) != 500 {
		t.Errorf("%s, want %s", got, want)
	}
	if got := w.paired(t); got != "-simulate +simulate +submit_explanation" {
		t.Error(got)
	}
}

// TestToolHasItsOwnTime: the time of a tool is its own, unless the limits of the run
// are shorter.
func TestToolHasItsOwnTime(t *testing.T) {
	f := func(own, most, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			took := time.Duration(0)
			p := &fake{turns: turns{says("long {}"), says(answered)}}
			w := newWorld(t, p, aTool("long", func(ctx context.Context, _ jsontext.Value) (any, error) {
				began := time.Now()
				<-ctx.Done()
				took = time.Since(began)
				return nil, ctx.Err()
			}))
			w.Tools[0].Limit, w.Limits.ToolTime = own, most
			if _, err := Run(t.Context(), w.Options); err != nil || took != want {
				t.Errorf("%v after %s, want %s", err, took, want)
			}
			if got := outcomes(p.asked[1]); len(got) != 1 || !strings.Contains(got[0].Content, fmt.Sprintf("no answer within %s", want)) {
				t.Errorf("%+v", got)
			}
		})
	}
	for _, x := range tool.All() {
		f(x.Limit, 0, x.Limit)
	}
	f(90*time.Second, 5*time.Second, 5*time.Second)
}

// TestCallEvents: what a call asks is told, bounded and clean.
func TestCallEvents(t *testing.T) {
	p := &fake{turns: turns{says(`look {"frame":"0.1","url":"https://key@node.example/secret","why":"` + strings.Repeat("é", 3000) + `"}`), says(answered)}}
	w := newWorld(t, p, aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil }))
	if _, err := Run(t.Context(), w.Options); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.events {
		if e.Type == api.EventToolCall && e.Tool == "look" {
			if !strings.HasPrefix(e.Args, `{"frame":"0.1","url":"URL","why":"éé`) || len(e.Args) > 512 || strings.ToValidUTF8(e.Args, "") != e.Args {
				t.Errorf("%d bytes: %q", len(e.Args), e.Args)
			}
			return
		}
	}
	t.Error("the call is not told")
}

// TestBrokenArguments: arguments that are no JSON go back to the model, which may send
// them again, those of an answer as often as one that is not of its schema.
func TestBrokenArguments(t *testing.T) {
	broken := func(name string) func(*llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return func(r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
			reply, err := says(name+" {}")(r, hear)
			reply.Message.Parts[0].Call.Broken = "they end after 9 bytes, before the JSON value does"
			return reply, err
		}
	}
	look := aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil })
	p := &fake{turns: turns{broken("look"), broken("engage_playbook"), broken("no_such"), broken("submit_explanation"), broken("submit_explanation"), says(answered)}}
	w := newWorld(t, p, look)
	if out, err := Run(t.Context(), w.Options); err != nil || out.Answer == nil {
		t.Fatal(err)
	}
	if got, want := w.paired(t), "-look -engage_playbook -no_such -submit_explanation -submit_explanation +submit_explanation"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i, want := range []string{"Send the call again", "Send the call again", "no tool of the name", "submit it again", "submit it again"} {
		got := outcomes(p.asked[i+1])
		if len(got) != 1 || !got[0].Failed || !strings.Contains(got[0].Content, want) || i != 2 && !strings.Contains(got[0].Content, "they end after 9 bytes") {
			t.Errorf("turn %d: %+v", i+1, got)
		}
	}
	p = &fake{turns: turns{broken("submit_explanation")}}
	w = newWorld(t, p, look)
	if _, err := Run(t.Context(), w.Options); !errors.Is(err, ErrNoAnswer) || len(p.asked) != 3 {
		t.Errorf("%v after %d turns", err, len(p.asked))
	}
}

// TestProviderEvents: thinking, repeats and the failure of a provider are told.
func TestProviderEvents(t *testing.T) {
	p := &fake{turns: turns{
		func(r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
			hear(llm.Delta{Thought: "A rou\x1b"})
			hear(llm.Delta{Retry: &llm.Retry{Attempt: 1, Wait: 1500 * time.Millisecond, Err: llm.ErrCut}})
			hear(llm.Delta{Thought: "A router."})
			return says("look {}")(r, hear)
		},
		func(*llm.Request, func(llm.Delta)) (llm.Reply, error) { return llm.Reply{}, llm.ErrDown },
	}}
	w := newWorld(t, p, aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil }))
	if _, err := Run(t.Context(), w.Options); !errors.Is(err, llm.ErrDown) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range w.events {
		switch e.Type {
		case api.EventAgentText:
			got = append(got, fmt.Sprint(*e.Iteration, " ", e.Thinking, " ", e.Text))
		case api.EventAgentStatus:
			s := fmt.Sprint(*e.Iteration, " ", e.State, " ", e.Message)
			if e.Attempt != nil {
				s += fmt.Sprint(" ", *e.Attempt, " ", *e.WaitMs)
			}
			got = append(got, s)
		}
	}
	want := []string{"1 true A rou", "1 retrying the model's answer was cut off 1 1500", "1 true A router.", "1 false let me see[2J ", "2 failed the model provider is not available"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}
