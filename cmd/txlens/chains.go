package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"txlens/engine/chain"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type chainsCmd struct {
	JSON bool `name:"json" help:"One JSON array instead of a table."`
}

type chainRow struct {
	Slug     string   `json:"slug"`
	ChainID  uint64   `json:"chainId"`
	Name     string   `json:"name"`
	Native   string   `json:"native"`
	Stack    string   `json:"stack"`
	Explorer string   `json:"explorer"`
	RPC      []string `json:"rpc"`
	Traces   []string `json:"traces"` // sources of a trace if no endpoint traces, without a key
}

// Run lists the chains in the order in which they are probed.
func (cmd *chainsCmd) Run(c console) error {
	var rows []chainRow
	for _, ch := range chain.All() {
		rows = append(rows, chainRow{ch.Slug, ch.ID, ch.Name, ch.Native.Symbol, ch.Stack.Name(), ch.Explorer, ch.RPC, traceSources(ch)})
	}
	if cmd.JSON {
		if err := json.MarshalWrite(c.out, rows, jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.out)
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CHAIN\tID\tNAME\tCOIN\tSTACK\tTRACES\tEXPLORER")
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join([]string{r.Slug, strconv.FormatUint(r.ChainID, 10), r.Name, r.Native, r.Stack,
			cmp.Or(strings.Join(r.Traces, ","), "-"), strings.TrimPrefix(r.Explorer, "https://")}, "	"))
	}
	return w.Flush()
}

// traceSources lists what gives a trace without a key if no endpoint does, as results name
// it: the explorer of the chain, and re-execution here, if the endpoint keeps the state
// before the transaction.
func traceSources(ch *chain.Chain) []string {
	out := []string{}
	if ch.Blockscout != "" {
		out = append(out, "blockscout")
	}
	if ch.Stack.Unreplayable() == "" && len(ch.RPC) > 0 {
		out = append(out, "local-replay")
	}
	return out
}
