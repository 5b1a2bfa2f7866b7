package main

import (
	"fmt"
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
}

// Run lists the chains in the order in which they are probed.
func (cmd *chainsCmd) Run(c console) error {
	var rows []chainRow
	for _, ch := range chain.All() {
		rows = append(rows, chainRow{ch.Slug, ch.ID, ch.Name, ch.Native.Symbol, ch.Stack.Name(), ch.Explorer, ch.RPC})
	}
	if cmd.JSON {
		if err := json.MarshalWrite(c.out, rows, jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.out)
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CHAIN\tID\tNAME\tCOIN\tSTACK\tEXPLORER")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", r.Slug, r.ChainID, r.Name, r.Native, r.Stack, strings.TrimPrefix(r.Explorer, "https://"))
	}
	return w.Flush()
}
