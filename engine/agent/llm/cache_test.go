package llm_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/scripted"

	"github.com/go-json-experiment/json/jsontext"
)

// TestNextTurnReadsTheCache: what a turn wrote to the vendor's cache is a prefix of
// the next turn, which names the same place, however much one turn brings.
func TestNextTurnReadsTheCache(t *testing.T) {
	var turns []scripted.Turn
	for n := range 4 {
		turn := scripted.Turn{Think: []string{"Hm."}}
		for range 10 * (n + 1) {
			turn.Calls = append(turn.Calls, scripted.Call{Name: "look", Input: []string{`{"path":"0"}`}})
		}
		turns = append(turns, turn)
	}
	s := scripted.New(turns...)
	talk(t, vendors[0].to(t, s, llmhttp.Limits{}), ask(), len(turns))
	var before [][]byte
	for i, r := range s.Requests() {
		now := prefixes(t, r.Body)
		if i > 0 && !has(now, before[len(before)-1]) {
			t.Errorf("request %d does not read what the one before wrote last", i)
		}
		if i > 0 && !has(now, before[1]) {
			t.Errorf("request %d does not name the digest", i)
		}
		if len(now) > 4 || len(now) < min(2+i, 4) {
			t.Errorf("request %d names %d places", i, len(now))
		}
		before = now
	}
}

func has(list [][]byte, want []byte) bool {
	for _, p := range list {
		if bytes.Equal(p, want) {
			return true
		}
	}
	return false
}

// prefixes are what the vendor caches: tools, system and messages, in this order,
// each time up to a block that says so. The mark itself is no part of it.
func prefixes(t *testing.T, body []byte) (list [][]byte) {
	t.Helper()
	const mark = `"cache_control":{"type":"ephemeral"},`
	text := ""
	for _, name := range []string{"tools", "system", "messages"} {
		text += strings.TrimPrefix(memberOf(body, name), name+"=")
	}
	for at := 0; ; {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return list
		}
		text = text[:at+i] + text[at+i+len(mark):]
		at += i
		end := strings.IndexByte(text[at:], '}') // of the block that has the mark: what follows in it is flat
		list = append(list, []byte(text[:at+end]))
	}
}

// TestThinkingGoesBackAsItCame is checked by the scripted server, too: it refuses
// thinking whose signature is another's.
func TestThinkingGoesBackAsItCame(t *testing.T) {
	odd := "<&> \u2028 \"quoted\" \\ é\x00"
	s := scripted.New(scripted.Turn{Think: []string{odd[:3], odd[3:]}, Redacted: "b64==", Text: []string{"x"}}, scripted.Turn{Text: []string{"y"}})
	replies, _ := talk(t, vendors[0].to(t, s, llmhttp.Limits{}), ask(), 2)
	if parts := replies[0].Message.Parts; len(parts) != 3 || parts[0].Opaque == nil || parts[1].Opaque == nil || parts[2].Text != "x" {
		t.Fatalf("%+v", parts)
	}
	var opaque []jsontext.Value
	for _, p := range replies[0].Message.Parts[:2] {
		opaque = append(opaque, p.Opaque)
	}
	want := fmt.Sprintf("%s,%s,", opaque[0], opaque[1])
	if !strings.Contains(unescaped(s.Requests()[1].Body), unescaped([]byte(want))) {
		t.Errorf("%s is not in %s", want, s.Requests()[1].Body)
	}
}

// unescaped makes JSON comparable: the library writes <, > and & as escapes.
func unescaped(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace(string(b))
}

// TestSilentMessagesAreLeftOut: a model that said nothing leaves no message that the
// vendor would refuse.
func TestSilentMessagesAreLeftOut(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		s := scripted.New(scripted.Turn{}, scripted.Turn{Text: []string{" "}}, scripted.Turn{Text: []string{"Well."}})
		replies, _ := talk(t, v.to(t, s, llmhttp.Limits{}), ask(), 3)
		if len(replies[0].Message.Parts) != 0 || replies[2].Message.Parts[0].Text != "Well." {
			t.Errorf("%+v", replies)
		}
	})
}

// TestBareServers: no usage, no ids, no indices, calls in one piece or in many.
func TestBareServers(t *testing.T) {
	s := scripted.New(scripted.Turn{Bare: true, Calls: []scripted.Call{{Name: "look", Input: []string{`{"path":"0"}`}}, {Name: "look", Input: scripted.Split(`{"path":"1"}`, 3)}, {Name: "answer", Input: []string{""}}}},
		scripted.Turn{Bare: true, Text: []string{"Done, ", "I think."}, Stop: "stop"})
	r := ask()
	replies, _ := talk(t, vendors[1].to(t, s, llmhttp.Limits{}), r, 2)
	calls := callsOf(replies[0])
	got := ""
	for _, c := range calls {
		got += c.ID + " " + c.Name + " " + string(c.Input) + "\n"
	}
	if got != "call_1 look {\"path\":\"0\"}\ncall_2 look {\"path\":\"1\"}\ncall_3 answer {}\n" {
		t.Errorf("calls\n%s", got)
	}
	for i, want := range []int64{9, 4} { // 36 bytes of calls, 16 of text
		if u := replies[i].Usage; !replies[i].Guessed || u.Input == 0 || u.Output > want || u.Output == 0 {
			t.Errorf("turn %d: usage %+v", i, u)
		}
	}
	// Without a key nothing is sent.
	s2 := scripted.New(scripted.Turn{Text: []string{"x"}})
	defer s2.Close()
	p, err := vendors[1].open(llmhttp.Config{BaseURL: s2.OpenAI()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := turn(p, ask()); err != nil || s2.Requests()[0].Header.Get("Authorization") != "" {
		t.Errorf("%v, %q", err, s2.Requests()[0].Header.Get("Authorization"))
	}
	_ = p.(interface{ Close() error }).Close()
}

// TestRepeatedNames: servers that repeat id and name with each piece, and those that
// send calls under one index.
func TestRepeatedNames(t *testing.T) {
	piece := func(id, name, args string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id + `","function":{"name":"` + name + `","arguments":` + string(must(jsontext.AppendQuote(nil, args))) + `}}]}}]}` + "\n\n"
	}
	s := scripted.New(scripted.Turn{Bare: true, Stop: "tool_calls", Fault: scripted.Fault{Garbage: piece("a", "look", `{"pa`) + piece("a", "look", `th":"0"}`) + piece("b", "look", `{}`) + piece("b", "", "")}})
	reply, _, err := turn(vendors[1].to(t, s, llmhttp.Limits{}), ask())
	calls := callsOf(reply)
	if err != nil || len(calls) != 2 || string(calls[0].Input) != `{"path":"0"}` || calls[1].ID != "b" || reply.Stop != llm.StopCalls {
		t.Errorf("%+v, %v (%s)", reply, err, detail(err))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestOddInputs: a call whose input is no object, or has a name twice, does not end
// the conversation.
func TestOddInputs(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		s := scripted.New(scripted.Turn{Calls: []scripted.Call{{Name: "look", Input: []string{`[1]`}}, {Name: "look", Input: []string{`{"a":1,"a":2}`}}}}, scripted.Turn{Text: []string{"x"}})
		replies, _ := talk(t, v.to(t, s, llmhttp.Limits{}), ask(), 2)
		if calls := callsOf(replies[0]); len(calls) != 2 || string(calls[0].Input) != `[1]` || string(calls[1].Input) != `{"a":1,"a":2}` {
			t.Errorf("%+v", calls)
		}
	})
}
