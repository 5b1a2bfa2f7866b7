package mcp

import (
	"encoding/json"
	"testing"
)

// TestNamesOfTheChain: id or slug, under both names.
func TestNamesOfTheChain(t *testing.T) {
	explain, check := tools[0].input, tools[len(tools)-1].input
	f := func(s schema, doc, want string) {
		t.Helper()
		got := ""
		args, err := readArguments(json.RawMessage(doc), s)
		if err == nil {
			c, cerr := args.chain(chainID)
			if err = cerr; c != nil {
				got = c.Slug
			}
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", doc, got, err, want)
		}
	}
	for _, name := range []string{"chainId", "chain"} {
		f(explain, `{"txHash":"1","`+name+`":8453}`, "base-mainnet")
		f(explain, `{"txHash":"1","`+name+`":"8453"}`, "base-mainnet")
		f(explain, `{"txHash":"1","`+name+`":"Base-Mainnet"}`, "base-mainnet")
		f(check, `{"address":"1","`+name+`":"bsc-mainnet"}`, "bsc-mainnet")
		f(check, `{"address":"1","`+name+`":-1}`, "")
		f(check, `{"address":"1","`+name+`":[1]}`, "")
	}
	f(check, `{"address":"1","chainId":1,"chain":1}`, "")
}
