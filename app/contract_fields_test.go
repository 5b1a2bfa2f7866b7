package app_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/testkit/service"
)

// requestRows are those of the table of ExplainRequest.
var requestRows = []contractRow{
	{name: "txHash", each: func(t *testing.T, s *site) {
		badHashes(t, s.testServer)
		s.accepts(t, s.request(``))
		if s.result["txHash"] != s.w.Tx.Hash {
			t.Errorf("%v", s.result["txHash"])
		}
	}},
	{name: "chainId", each: func(t *testing.T, s *site) {
		for _, v := range []string{`0`, `-1`, `1.0`, `1e0`, `1.5`, `"1"`, `null`, `18446744073709551616`, `987654321`} {
			s.refuses(t, s.request(`,"chainId":`+v), "chainId: ")
		}
		s.refuses(t, s.request(`,"chainId":1,"chainId":1`), "chainId: is given more than once")
		s.accepts(t, s.request(`,"chainId":1`))
		probes := func(frames []service.Object) (n int) {
			for _, f := range frames {
				if f["phase"] == "probe" && f["state"] == "started" {
					n++
				}
			}
			return n
		}
		if probes(s.frames) != 0 || probes(s.reported) != 1 { // the first named the chain
			t.Errorf("%d and %d searches for the chain", probes(s.frames), probes(s.reported))
		}
	}},
	{name: "context", each: func(t *testing.T, s *site) {
		s.refuses(t, s.request(`,"context":"`+strings.Repeat("x", 2049)+`"`), "context: is 2049 bytes")
		s.refuses(t, s.request(`,"context":7`), "context: must be a string")
		s.accepts(t, s.request(`,"context":"`+strings.Repeat("x", 2048)+`"`))
		if list, _ := s.result["nonFindings"].([]any); len(list) == 0 || s.plain["nonFindings"] != nil {
			t.Errorf("a triage that was asked for has %v, another %v", s.result["nonFindings"], s.plain["nonFindings"])
		}
	}},
	{name: "model", each: func(t *testing.T, s *site) {
		for _, v := range []string{`""`, `"gpt"`, `"claude-opus-5"`, `5`, `null`} {
			s.refuses(t, s.request(`,"model":`+v), "model: ")
		}
		for _, name := range []string{"model-opus-5", "model-opus-4-8", "model-opus-4-7", "model-sonnet-4-6", "model-haiku-4-5-20251001"} {
			s.accepts(t, s.request(`,"model":"`+name+`"`))
		}
		if spec := s.get("/tool-spec.json").Has(t, 200).JSON(t); spec["defaultModel"] != api.DefaultModel {
			t.Errorf("defaultModel %v", spec["defaultModel"])
		}
		if s.mode == modelMode {
			if r := s.last(s.request(`,"model":"model-haiku-4-5-20251001"`)); r["analysisModel"] != "model-haiku-4-5-20251001" {
				t.Errorf("%v answers in place of the model that was named", r["analysisModel"])
			}
		}
	}},
	{name: "report", each: func(t *testing.T, s *site) {
		for _, v := range []string{`1`, `"true"`, `null`} {
			s.refuses(t, s.request(`,"report":`+v), "report: ")
		}
		end := s.reported[len(s.reported)-1]
		html, _ := end["html"].(string)
		page, _ := s.job["html"].(string)
		if end["type"] != "report" || !strings.HasPrefix(strings.ToLower(html), "<!doctype html") || !strings.HasPrefix(strings.ToLower(page), "<!doctype html") || s.bare["html"] != nil {
			t.Errorf("%v ends the stream; html of %d and %d bytes", end["type"], len(html), len(page))
		}
		if s.metered() {
			return // the blocking form is refused there
		}
		if got := s.post("/explain", s.request(`,"report":true`)).Is(t, 200); !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s", got.Header.Get("Content-Type"))
		}
	}},
}

// refuses: a body is refused by each endpoint that takes it, before anything is paid.
func (s *site) refuses(t *testing.T, body, text string) {
	t.Helper()
	for _, accept := range []string{"", service.EventStream} {
		for _, path := range []string{"/explain", "/explain/async"} {
			got := s.ask("POST", path, accept, body).Is(t, 400, text)
			if o := got.JSON(t); len(o) != 1 || !strings.HasPrefix(fmt.Sprint(o["error"]), text) || strings.Contains(got.Body, "jsontext") {
				t.Errorf("%s %.200s: %s", path, body, got.Body)
			}
		}
	}
}

// accepts: a body is good, and what is left to do is to pay where it is sold.
func (s *site) accepts(t *testing.T, body string) {
	t.Helper()
	want := 202
	if s.metered() {
		want = 402
	}
	if got := s.post("/explain/async", body); got.Status != want {
		t.Errorf("%.200s: %d %.300s", body, got.Status, got.Body)
	}
}

// field is a row of the tables of ExplanationResult: present in all results, whole and
// partial, and right in the whole one.
func field(name string, right func(s *site, v any) bool) contractRow {
	return contractRow{name: name, each: func(t *testing.T, s *site) {
		for what, r := range map[string]service.Object{"the result": s.result, "a plain one": s.plain, "the partial result": s.partial, "one without a receipt": s.unreceipt, "a compressed one": s.compressed} {
			if _, ok := r[name]; !ok {
				t.Errorf("%s lacks it", what)
			}
		}
		if v := s.result[name]; !right(s, v) {
			t.Errorf("%.400v", v)
		}
	}}
}

// items reports whether v is a list, not empty, whose items have these members.
func items(v any, members ...string) bool {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	for _, item := range list {
		o, ok := item.(service.Object)
		if !ok || !has(o, members...) {
			return false
		}
	}
	return true
}

func has(o service.Object, members ...string) bool {
	for _, m := range members {
		if _, ok := o[m]; !ok {
			return false
		}
	}
	return true
}

func textList(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(x any) bool { s, ok := x.(string); return !ok || s == "" })
}

func oneOf(v any, values ...any) bool { return slices.Contains(values, v) }

// matches reports whether all members are text of the pattern.
func matches(o any, pattern string, members ...string) bool {
	for _, m := range members {
		if text, ok := o.(service.Object)[m].(string); !ok || !regexp.MustCompile(pattern).MatchString(text) {
			return false
		}
	}
	return true
}

const (
	anAddress  = "^0x[0-9a-f]{40}$"
	aQuantity  = "^0x[0-9a-f]+$"
	signedText = `^-?[0-9]+(\.[0-9]+)?$`
)

// resultRows are those of the table of what an ExplanationResult always has.
var resultRows = []contractRow{
	field("txHash", func(s *site, v any) bool { return v == s.w.Tx.Hash }),
	field("chain", func(s *site, v any) bool { return v == "ethereum-mainnet" }),
	field("chainName", func(s *site, v any) bool { return v == "Ethereum" }),
	field("explorerBase", func(s *site, v any) bool { return v == "https://etherscan.io" }),
	field("status", func(s *site, v any) bool { return v == "success" && s.partial["status"] == "success" }),
	field("analysisModel", func(s *site, v any) bool {
		return v == s.modelName() && s.partial["analysisModel"] == "partial-synthesis" && s.unreceipt["analysisModel"] == "partial-synthesis"
	}),
	field("summary", func(s *site, v any) bool {
		text, _ := v.(string)
		cut, _ := s.partial["summary"].(string)
		none, _ := s.unreceipt["summary"].(string)
		return text != "" && !strings.Contains(text, "\n") && !strings.Contains(text, "Partial result") &&
			strings.HasPrefix(cut, "**Partial result: the trace phase failed (") && strings.HasPrefix(none, "**Partial result: the transaction phase failed (") && !strings.Contains(none, "Swapped")
	}),
	field("steps", func(s *site, v any) bool { return textList(v) && len(v.([]any)) > 1 }),
	field("risks", func(s *site, v any) bool { return textList(v) && textList(s.partial["risks"]) }),
	field("protocol", func(s *site, v any) bool { return regexp.MustCompile("^[a-z0-9_]+$").MatchString(fmt.Sprint(v)) }),
	field("txType", func(s *site, v any) bool {
		return v == "swap" && oneOf(s.partial["txType"], nil, "swap", "transfer", "exploit", "liquidation", "bridge", "deployment", "mev", "governance", "routine_infra", "approval", "stake", "other")
	}),
	field("confidence", func(s *site, v any) bool {
		return oneOf(v, "high", "medium", "low") && s.partial["confidence"] == "low" && s.unreceipt["confidence"] == "low"
	}),
	field("addresses", func(s *site, v any) bool {
		return items(v, "address", "label", "role") && matches(v.([]any)[0], anAddress, "address")
	}),
	field("contracts", func(s *site, v any) bool { return items(v, "address", "name", "description") }),
	field("usdValue", func(s *site, v any) bool { n, ok := v.(float64); return ok && n > 0 }),
	field("costs", func(s *site, v any) bool { return sumOfCosts(v) && sumOfCosts(s.partial["costs"]) }),
	field("toolCalls", func(s *site, v any) bool {
		call := v.([]any)[0].(service.Object)
		_, ms := call["durationMs"].(float64)
		_, ok := call["ok"].(bool)
		_, cost := call["costUsd"].(float64)
		return items(v, "tool", "durationMs", "ok", "costUsd") && ms && ok && cost
	}),
	field("prettyTrace", func(s *site, v any) bool {
		return items(v, "index", "depth", "type", "from", "fromLabel", "to", "toLabel", "selector", "functionName", "functionSignature", "input", "output", "valueWei", "valueEth", "gasUsed", "eventSignature", "decodedArgs")
	}),
	field("rawTrace", func(s *site, v any) bool {
		raw, ok := v.(service.Object)
		_, calls := raw["calls"].([]any)
		cut, there := s.partial["rawTrace"].(service.Object) // the outermost call is known without a trace
		return ok && calls && has(raw, "type", "from", "to", "gas", "gasUsed", "input") && s.compressed["rawTrace"] == nil && there && cut["calls"] == nil && cut["to"] == raw["to"]
	}),
	field("txMeta", func(s *site, v any) bool {
		return has(v.(service.Object), "from", "to", "valueWei", "blockNumber", "blockTimestamp", "transactionIndex", "gasUsed", "gasPrice") && matches(v, aQuantity, "valueWei", "gasPrice")
	}),
	field("tokenTransfers", func(s *site, v any) bool {
		return items(v, "type", "from", "to", "tokenName", "tokenSymbol", "tokenAddress", "total", "decimals") && matches(v.([]any)[0], "^[0-9]+$", "total", "decimals") &&
			fmt.Sprint(symbols(s.unreceipt)) == fmt.Sprint(symbols(s.result))
	}),
	field("mermaidDiagram", func(s *site, v any) bool { return strings.HasPrefix(fmt.Sprint(v), "sequenceDiagram") }),
	field("htmlReport", func(s *site, v any) bool {
		with, _ := s.job["result"].(service.Object)
		without, _ := s.bare["result"].(service.Object)
		return v == false && with["htmlReport"] == true && without["htmlReport"] == false
	}),
}

// symbols are those of a result's token transfers.
func symbols(r service.Object) (list []string) {
	for _, x := range r["tokenTransfers"].([]any) {
		list = append(list, fmt.Sprint(x.(service.Object)["tokenSymbol"], " ", x.(service.Object)["decimals"]))
	}
	return list
}

// sumOfCosts reports whether the total is the sum of the buckets, exactly.
func sumOfCosts(v any) bool {
	raw, err := json.Marshal(v)
	var costs map[string]json.Number
	if err != nil || json.Unmarshal(raw, &costs) != nil || len(costs) != 5 {
		return false
	}
	sum := new(big.Rat)
	for _, bucket := range []string{"llms", "dataCollection", "codeExecution", "other"} {
		n, ok := new(big.Rat).SetString(costs[bucket].String())
		if !ok {
			return false
		}
		sum.Add(sum, n)
	}
	total, ok := new(big.Rat).SetString(costs["totalUsd"].String())
	sum.Sub(sum, total)
	return ok && total.Sign() > 0 && sum.Abs(sum).Cmp(big.NewRat(1, 1e12)) < 0 // JSON was read as floats
}

// optionalRows are those of the table of what an ExplanationResult may have.
var optionalRows = []contractRow{
	{name: "skillsUsed", each: func(t *testing.T, s *site) {
		if got, want := s.result["skillsUsed"], fmt.Sprint([]any{playbookOfTest}); (s.mode == modelMode) != (fmt.Sprint(got) == want) || s.mode != modelMode && got != nil {
			t.Errorf("%v", got)
		}
	}},
	{name: "balanceChanges", each: func(t *testing.T, s *site) {
		v := s.result["balanceChanges"]
		if !items(v, "address", "label", "role", "isSender", "tokens", "totalUsd") || s.unreceipt["balanceChanges"] != nil {
			t.Fatalf("%.300v, without a receipt %.300v", v, s.unreceipt["balanceChanges"])
		}
		first := v.([]any)[0].(service.Object)
		if first["isSender"] != true || !items(first["tokens"], "tokenAddress", "tokenSymbol", "tokenId", "balance", "rawSignedAmount", "isNFT", "priceUsd", "valueUsd") || !matches(first["tokens"].([]any)[0], signedText, "balance", "rawSignedAmount") {
			t.Errorf("%v", first)
		}
	}},
	{name: "traceAnnotations", each: func(t *testing.T, s *site) {
		notes, ok := s.result["traceAnnotations"].(service.Object)
		if ok != (s.mode == modelMode) || ok && notes["0"] != "This is the outermost call, frame 0." {
			t.Errorf("%v", s.result["traceAnnotations"])
		}
	}},
	{name: "prettyTraceMeta", each: func(t *testing.T, s *site) {
		meta, _ := s.compressed["prettyTraceMeta"].(service.Object)
		if meta["originalNodes"].(float64) < 12_000 || meta["keptNodes"].(float64) >= meta["originalNodes"].(float64) || !items(meta["loops"], "parentIndex", "period", "repeats", "kind") || s.compressed["rawTrace"] != nil {
			t.Errorf("%v", meta)
		}
		for _, r := range []service.Object{s.result, s.partial, s.unreceipt} {
			if (r["prettyTraceMeta"] != nil) != (r["rawTrace"] == nil) {
				t.Errorf("rawTrace is missing and prettyTraceMeta does not say why: %v", r["summary"])
			}
		}
	}},
	{name: "findings", each: func(t *testing.T, s *site) {
		if s.result["findings"] != nil {
			t.Errorf("a swap has %v", s.result["findings"])
		}
		if s.mode != unmeteredMode { // one server of an exploit is enough
			return
		}
		h, hash := recordedServer(t, "../engine/check/testdata/access-control-anybody-may-name-the-owner.txlens")
		r := h.post("/explain", `{"txHash":"`+hash+`","chainId":1}`).Is(t, 200).JSON(t)
		if r["txType"] != "exploit" || !items(r["findings"], "broken_invariant", "category", "severity", "confidence", "victim", "attacker", "evidence", "missing_data_to_confirm") {
			t.Errorf("%v: %.500v", r["txType"], r["findings"])
		}
	}},
	{name: "nonFindings", each: func(t *testing.T, s *site) {
		if list, _ := s.result["nonFindings"].([]any); !textList(s.result["nonFindings"]) || len(list) == 0 || s.plain["nonFindings"] != nil {
			t.Errorf("%v; not asked for: %v", s.result["nonFindings"], s.plain["nonFindings"])
		}
	}},
}
