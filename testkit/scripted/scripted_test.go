package scripted

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body with the key and gives back status and body.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"X-Api-Key": {Key}, "Authorization": {"Bearer " + Key}, "Anthropic-Version": {"2023-06-01"}}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestRefusesWhatVendorsRefuse: else a test of the agent would pass with a
// conversation that no vendor takes.
func TestRefusesWhatVendorsRefuse(t *testing.T) {
	s := Answering(func(int, Request) Turn { return Turn{Text: []string{"x"}} })
	defer s.Close()
	f := func(url, body, wrong string) {
		t.Helper()
		status, said := post(t, url, body)
		if wrong == "" && status != 200 || wrong != "" && (status != 400 || !strings.Contains(said, wrong)) {
			t.Errorf("%s: %d %s, want %q", body, status, said, wrong)
		}
	}
	talk := func(messages string) string {
		return `{"model":"m","max_tokens":2000,"stream":true,"tools":[{"name":"look"}],"messages":[` + messages + `]`
	}
	const (
		user   = `{"role":"user","content":[{"type":"text","text":"x"}]}`
		calls  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}},{"type":"tool_use","id":"b","name":"look","input":{}}]}`
		answer = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"}]}`
		one    = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`
	)
	url := s.Anthropic() + "/v1/messages"
	f(url, talk(user)+`}`, "")
	f(url, talk(user+","+calls+","+answer)+`}`, "")
	f(url, talk(user+","+calls+","+one)+`}`, "without `tool_result` blocks")
	f(url, talk(user+","+calls+","+user)+`}`, "without `tool_result` blocks")
	f(url, talk(one)+`}`, "unexpected tool_use_id")
	f(url, talk(user+","+user)+`}`, "role is")
	f(url, talk(`{"role":"user","content":[]}`)+`}`, "content is empty")
	f(url, talk(`{"role":"user","content":[{"type":"text","text":" "}]}`)+`}`, "non-whitespace")
	f(url, talk(user+`,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"}]},`+user)+`}`, "Invalid `signature`")
	f(url, talk(user+`,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"`+Sign("a")+`"}]},`+user)+`}`, "")
	f(url, talk(user+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":[1]}]},`+one)+`}`, "valid dictionary")
	f(url, talk(user)+`,"thinking":{"type":"enabled","budget_tokens":2000}}`, "below max_tokens")
	f(url, talk(user)+`,"thinking":{"type":"adaptive"},"tool_choice":{"type":"tool","name":"look"}}`, "Thinking may not")
	f(url, talk(user)+`,"tool_choice":{"type":"tool","name":"other"}}`, "names no tool")
	f(url, talk(user)+`,"x":[`+strings.Repeat(`{"cache_control":{}},`, 4)+`{"cache_control":{}}]}`, "maximum of 4")
	f(url, `{"model":"m","stream":true,"messages":[`+user+`]}`, "are required")
	f(url, `[`, "no request")

	chat := func(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }
	const (
		asks = `{"role":"user","content":"x"}`
		call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function"}]}`
		tool = `{"role":"tool","tool_call_id":"a","content":"x"}`
	)
	url = s.OpenAI() + "/chat/completions"
	f(url, chat(asks), "")
	f(url, chat(asks+","+call+","+tool), "")
	f(url, chat(asks+","+call), "not answered")
	f(url, chat(asks+","+call+","+asks), "not answered")
	f(url, chat(asks+","+tool), "no tool call has the id")
	f(url, chat(asks+","+call+","+tool+","+tool), "no tool call has the id")
	f(url, chat(asks+`,{"role":"assistant","tool_calls":[{"id":"","type":"function"}]}`), "no id of its own")
	f(url, `{"model":"m","messages":[`+asks+`]}`, "are required")
	if status, _ := post(t, s.Anthropic()+"/v1/other", "{}"); status != 404 {
		t.Errorf("status %d", status)
	}
}

// TestScriptEnds: a request too many is the test's mistake, and is told.
func TestScriptEnds(t *testing.T) {
	s := New(Turn{Text: []string{"only"}})
	defer s.Close()
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
	if status, said := post(t, s.OpenAI()+"/chat/completions", body); status != 200 || !strings.Contains(said, "only") || !strings.HasSuffix(said, "data: [DONE]\n\n") {
		t.Errorf("%d %s", status, said)
	}
	if status, said := post(t, s.OpenAI()+"/chat/completions", body); status != 400 || !strings.Contains(said, "the script has 1 turns, this is request 2") {
		t.Errorf("%d %s", status, said)
	}
	if got := s.Requests(); len(got) != 2 || string(got[0].Body) != body {
		t.Errorf("%+v", got)
	}
}
