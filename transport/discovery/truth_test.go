package discovery

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// unusual are terms and limits that differ from the defaults in every value.
var unusual = Config{
	Metered: true, ModelBudget: 4_700_000_000,
	Terms: Terms{
		ChainID: 42431, Currency: "0x20c0000000000000000000000000000000000000", Unit: 10_000, SuggestedDeposit: 23_000_000, MinimumDeposit: 3_700_000,
		Exposure: 410_000, VoucherPatience: 47 * time.Second, JobPatience: 83 * time.Second,
	},
	Limits: Limits{Body: 61_000, Head: 17_000, Deadline: 7 * time.Minute, Heartbeat: 13 * time.Second, RunRecord: 15_000_000},
}

// TestSaysWhatIsInForce: each document gives the values of the configuration, and
// none of those that they replace.
func TestSaysWhatIsInForce(t *testing.T) {
	s := documents(t, unusual)
	f := func(path string, says, not []string) {
		t.Helper()
		d, _ := s.At(path, BaseURL{})
		for _, text := range says {
			if !strings.Contains(string(d.Body), text) {
				t.Errorf("%s does not say %q", path, text)
			}
		}
		for _, text := range not {
			if strings.Contains(string(d.Body), text) {
				t.Errorf("%s says %q", path, text)
			}
		}
	}
	defaults := []string{"$16", "$32", "$2 ", "$2.00", "0.25", "60 seconds", "90 seconds", "15 seconds of", "for 15 seconds", "USDC.e", DefaultTerms.Currency, "two minutes", "2 minutes"}
	f("/SKILL.md", []string{"$23", "$46", "--max-deposit 46", "$3.70", "$0.41", "waits 47 seconds", "for 83 seconds", "13 seconds of silence", "up to $4.7 in one analysis",
		"the token (`0x20c0000000000000000000000000000000000000`)", "--settle-chain 42431", "take 7 minutes", "over 61000 bytes"}, defaults)
	f("/llms-full.txt", []string{"$23", "$46", "$3.70", "$0.41", "47 seconds", "83 seconds", "13 seconds", "15000000 bytes", "61000 bytes", "17000 bytes"}, defaults)
	f("/tool-spec.json", []string{"83 seconds", "7 minutes"}, defaults)
	f("/openapi.json", []string{"83 seconds", "13 seconds", "0x20c0000000000000000000000000000000000000"}, defaults)
	s = documents(t, Config{Metered: true})
	f("/SKILL.md", []string{"no language model", "USDC.e"}, []string{"may cost up to", "--settle-chain"})
}

// TestNoNameInBraces: each name that stands for a value of the configuration is
// replaced.
func TestNoNameInBraces(t *testing.T) {
	name := regexp.MustCompile(`\{[A-Za-z]+\}`)
	for _, cfg := range []Config{{}, {Metered: true}, unusual} {
		s := documents(t, cfg)
		for _, path := range Paths() {
			d, _ := s.At(path, BaseURL{})
			for _, found := range name.FindAllString(string(d.Body), -1) {
				if !slices.Contains([]string{"{jobId}", "{requestId}", "{part}", "{format}", "{name}", "{hash}", "{chain}"}, found) {
					t.Errorf("%s: %s", path, found)
				}
			}
		}
	}
}

// TestMeteredCalls: where analyses are sold no document shows a request that would be
// refused: every command pays, and those for POST /explain ask for a stream.
func TestMeteredCalls(t *testing.T) {
	f := func(metered bool, pays bool) {
		t.Helper()
		s := documents(t, Config{Metered: metered})
		for _, path := range []string{"/SKILL.md", "/llms-full.txt", "/llms.txt"} {
			d, _ := s.At(path, BaseURL{})
			if plain := strings.Contains(string(d.Body), "curl "); plain == pays && path != "/llms.txt" {
				t.Errorf("%s shows a request without payment: %v", path, plain)
			}
			for _, line := range commands(string(d.Body)) {
				words := strings.Fields(line)
				if pays && !(words[0] == "txlens" && slices.Contains(words, "--server")) && !(words[0] == "npx" && words[1] == "mppx") {
					t.Errorf("%s: %s", path, line)
				}
			}
		}
	}
	f(false, false)
	f(true, true)
	d, _ := documents(t, Config{Metered: true}).At("/SKILL.md", BaseURL{})
	if n := len(commands(string(d.Body))); n < 3 {
		t.Errorf("%d commands", n)
	}
	var spec struct {
		Anthropic []struct{ Name, Description string }
		OpenAI    []struct {
			Function struct{ Name, Description string }
		}
	}
	read(t, Config{Metered: true}, "/tool-spec.json", &spec)
	want := map[string]string{"explain_transaction": "Accept: text/event-stream", "start_explain_job": "pays MPP sessions", "get_job_result": "paying fetch"}
	for i, tool := range spec.Anthropic {
		if text := want[tool.Name]; text == "" || !strings.Contains(tool.Description, text) || spec.OpenAI[i].Function.Description != tool.Description {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
	}
}

// commands are the lines of shell in the fenced blocks of a text.
func commands(text string) (lines []string) {
	fenced, shell := false, false
	for line := range strings.Lines(text) {
		if lang, ok := strings.CutPrefix(line, "```"); ok {
			fenced = !fenced
			shell = fenced && strings.TrimSpace(lang) == ""
		} else if line = strings.TrimSpace(line); shell && line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestEndpointsOnce: the tool specification lists each path once.
func TestEndpointsOnce(t *testing.T) {
	for _, metered := range []bool{false, true} {
		var spec struct {
			Endpoints []struct{ Method, Path, Purpose, Tool string }
		}
		read(t, Config{Metered: metered}, "/tool-spec.json", &spec)
		paths, purposes, tools := map[string]bool{}, map[string]bool{}, 0
		for _, e := range spec.Endpoints {
			if paths[e.Path] || purposes[e.Purpose] {
				t.Errorf("metered %v: %s %s is listed twice: %s", metered, e.Method, e.Path, e.Purpose)
			}
			paths[e.Path], purposes[e.Purpose] = true, true
			if e.Tool != "" {
				tools++
			}
		}
		if len(paths) != 21 || tools != 3 {
			t.Errorf("metered %v: %d paths, %d tools", metered, len(paths), tools)
		}
	}
}
