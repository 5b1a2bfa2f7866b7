package view

import (
	"fmt"
	"unicode/utf8"

	"txlens/engine/api"
)

// Shorten returns a text of at most n bytes. Where it cuts, an ellipsis ends the text.
func Shorten(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	for n = max(n-len(mark), 0); n > 0 && !utf8.RuneStart(s[n]); {
		n--
	}
	return s[:n] + mark
}

// Bounds of a node that is made compact.
const (
	compactArgs  = 6
	compactDepth = 3
)

// Compact returns a node whose calldata, return data and arguments have about n bytes
// each. Selector and FunctionName are kept; a text that is cut ends with an ellipsis.
func Compact(node api.Node, n int) api.Node {
	node.Input, node.Output = head(node.Input, n), head(node.Output, n)
	for _, s := range []*string{
		&node.FromLabel, &node.ToLabel, &node.FunctionName, &node.Error, &node.ValueWei, &node.ValueEth, &node.RevertedBy, &node.Path, &node.Selector,
	} {
		*s = Shorten(*s, 80)
	}
	node.FunctionSignature = Shorten(node.FunctionSignature, max(n, 40))
	node.Provenance = Shorten(node.Provenance, 80)
	if node.EventSignature != nil {
		node.EventSignature = new(Shorten(*node.EventSignature, max(n, 40)))
	}
	node.DecodedArgs, node.DecodedOutput = compactList(node.DecodedArgs, n, compactDepth), compactList(node.DecodedOutput, n, compactDepth)
	return node
}

func compactList(args []api.Arg, n, depth int) []api.Arg {
	if n == 0 {
		return nil
	}
	out := make([]api.Arg, 0, min(len(args), compactArgs+1))
	for i, a := range args {
		if i == compactArgs {
			return append(out, api.Arg{Name: "…", Value: fmt.Sprintf("%d more arguments", len(args)-i)})
		}
		a.Name, a.Type, a.Value = Shorten(a.Name, 40), Shorten(a.Type, 60), compactValue(a.Value, n, depth)
		out = append(out, a)
	}
	return out
}

func compactValue(v any, n, depth int) any {
	switch v := v.(type) {
	case string:
		return Shorten(v, 2*n+2)
	case []api.Arg:
		if depth == 0 {
			return fmt.Sprintf("%d members", len(v))
		}
		return compactList(v, n, depth-1)
	case []any:
		return compactItems(v, n, depth)
	}
	return v
}

func compactItems(items []any, n, depth int) any {
	if depth == 0 {
		return fmt.Sprintf("%d items", len(items))
	}
	out := make([]any, 0, min(len(items), compactArgs+1))
	for i, item := range items {
		if i == compactArgs {
			return append(out, fmt.Sprintf("%d more items", len(items)-i))
		}
		out = append(out, compactValue(item, n, depth-1))
	}
	return out
}
