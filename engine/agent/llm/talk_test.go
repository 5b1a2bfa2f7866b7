package llm_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/scripted"
)

// talk runs a conversation as the agent does: calls are answered, parts go back.
func talk(t *testing.T, p llm.Provider, r *llm.Request, turns int) (replies []llm.Reply, all []*heard) {
	t.Helper()
	for range turns {
		reply, h, err := turn(p, r)
		if err != nil {
			t.Fatalf("turn %d: %v (%s)", len(replies)+1, err, detail(err))
		}
		replies, all = append(replies, reply), append(all, h)
		r.Messages = append(r.Messages, reply.Message)
		back := llm.Message{Role: llm.User}
		for i, part := range reply.Message.Parts {
			if part.Call != nil {
				back.Parts = append(back.Parts, llm.Part{Outcome: &llm.Outcome{ID: part.Call.ID, Content: `{"data":"<b>"}`, Failed: i%2 == 1}})
			}
		}
		if len(back.Parts) == 0 {
			back.Parts = []llm.Part{{Text: "Go on."}}
		}
		r.Messages = append(r.Messages, back)
	}
	return replies, all
}

func conversation() *scripted.Server {
	return scripted.New(
		scripted.Turn{Think: []string{"Let me ", "look."}, Redacted: "c2VjcmV0", Text: []string{"I look ", "at it."},
			Calls: []scripted.Call{{Name: "look", Input: scripted.Split(`{"path":"0.1","depth":2}`, 5)}, {Name: "look", Input: []string{`{"path":"é\u0000"}`}}},
			Usage: llm.Usage{Input: 12, CacheWrite: 2000, Output: 90}},
		scripted.Turn{Calls: []scripted.Call{{Name: "answer"}}, Usage: llm.Usage{Input: 200, CacheRead: 2000, CacheWrite: 110, Output: 30}},
		scripted.Turn{Text: []string{"Done."}, Usage: llm.Usage{Input: 7, CacheRead: 2310, Output: 3}},
	)
}

func TestConversation(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		p := v.to(t, conversation(), llmhttp.Limits{})
		replies, all := talk(t, p, ask(), 3)
		if got := all[0].text.String() + "|" + all[0].thought.String(); got != "I look at it.|Let me look." {
			t.Errorf("heard %q", got)
		}
		calls := callsOf(replies[0])
		if len(calls) != 2 || string(calls[0].Input) != `{"path":"0.1","depth":2}` || string(calls[1].Input) != `{"path":"é\u0000"}` || calls[0].ID == calls[1].ID {
			t.Errorf("calls %+v", calls)
		}
		if calls := callsOf(replies[1]); len(calls) != 1 || calls[0].Name != "answer" || string(calls[0].Input) != "{}" {
			t.Errorf("a call without input: %+v", calls)
		}
		stops := []llm.Stop{replies[0].Stop, replies[1].Stop, replies[2].Stop}
		if !slices.Equal(stops, []llm.Stop{llm.StopCalls, llm.StopCalls, llm.StopEnd}) {
			t.Errorf("stops %v", stops)
		}
		want := []llm.Usage{{Input: 12, CacheWrite: 2000, Output: 90}, {Input: 200, CacheRead: 2000, CacheWrite: 110, Output: 30}, {Input: 7, CacheRead: 2310, Output: 3}}
		for i, r := range replies {
			if r.Usage != want[i] || r.Guessed || len(all[i].usage) == 0 || all[i].usage[len(all[i].usage)-1] != want[i] {
				t.Errorf("turn %d: usage %+v guessed %v, heard %+v", i, r.Usage, r.Guessed, all[i].usage)
			}
		}
		last := replies[2].Message
		if last.Role != llm.Assistant || len(last.Parts) != 1 || last.Parts[0].Text != "Done." {
			t.Errorf("message %+v", last)
		}
	})
}

func callsOf(r llm.Reply) (calls []llm.Call) {
	for _, p := range r.Message.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

func TestStopsAtLimit(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		stop := map[string]string{"anthropic": "max_tokens", "openai": "length"}[v.name]
		p := v.to(t, scripted.New(scripted.Turn{Text: []string{"Cut"}, Calls: []scripted.Call{{Name: "look", Input: []string{`{"path":`, `"0.`}}}, Stop: stop}), llmhttp.Limits{})
		reply, _, err := turn(p, ask())
		if err != nil || reply.Stop != llm.StopLimit || len(reply.Message.Parts) != 2 || reply.Message.Parts[0].Text != "Cut" || callsOf(reply)[0].Broken == "" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
}

func TestSameRequestSameBytes(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		s := scripted.Answering(func(int, scripted.Request) scripted.Turn { return scripted.Turn{Text: []string{"x"}} })
		p := v.to(t, s, llmhttp.Limits{})
		for range 20 {
			if _, _, err := turn(p, ask()); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range s.Requests() {
			if string(r.Body) != string(s.Requests()[0].Body) {
				t.Fatalf("bodies differ:\n%s\n%s", r.Body, s.Requests()[0].Body)
			}
		}
	})
}

// TestEnvironmentIsIgnored sets what the vendors' libraries like to read, one by one,
// and asks with a key and without.
func TestEnvironmentIsIgnored(t *testing.T) {
	const value = "from-the-environment"
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": value, "ANTHROPIC_AUTH_TOKEN": value, "ANTHROPIC_PROFILE": value, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/" + value,
		"ANTHROPIC_CUSTOM_HEADERS": "X-Custom: " + value, "OPENAI_CUSTOM_HEADERS": "X-Custom: " + value,
		"OPENAI_API_KEY": value, "OPENAI_ADMIN_KEY": value, "OPENAI_ORG_ID": value, "OPENAI_PROJECT_ID": value, "OPENAI_BASE_URL": "http://127.0.0.1:1/" + value,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			each(t, func(t *testing.T, v vendor) {
				for _, key := range []string{scripted.Key, ""} {
					s := scripted.New(scripted.Turn{Text: []string{"x"}})
					p, err := v.open(llmhttp.Config{BaseURL: v.url(s), Key: key, Limits: llmhttp.Limits{Retries: -1}})
					if err != nil {
						t.Fatal(err)
					}
					_, _, err = turn(p, ask())
					_ = p.(io.Closer).Close()
					s.Close()
					if len(s.Requests()) != 1 || key != "" && err != nil {
						t.Fatalf("key %q: %v (%s), %d requests", key, err, detail(err), len(s.Requests()))
					}
					for header, values := range s.Requests()[0].Header {
						if strings.Contains(strings.Join(values, " "), "from-the-environment") {
							t.Errorf("key %q, %s: %q", key, header, values)
						}
					}
				}
			})
		})
	}
}
