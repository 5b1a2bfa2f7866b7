package mcp

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/view"
	"txlens/transport/discovery"
)

// structuredSince is the first version of the protocol with output schemas and structured content.
const structuredSince = "2025-06-18"

// structured reports whether a version of the protocol has structured content. A version that is
// not supported stands for one that is: the SDK answers with its newest for sessions.
func structured(version string) bool {
	return version >= structuredSince || !slices.Contains(Versions(), version)
}

// outputs are the output schemas of the tools by name, derived from the types that are encoded.
var outputs = sync.OnceValue(func() map[string]schema {
	var items []any
	for _, p := range view.Parts() {
		items = append(items, p.Item())
	}
	items = append(items, "") // a note for an item that is too long
	answers, err := discovery.NewStandalone(reply{}, map[string][]any{"Page.items": items})
	if err != nil {
		panic("mcp: " + err.Error()) // a fault in the tables, which a test finds
	}
	out := map[string]schema{}
	for _, t := range tools {
		texts := map[string]string{"notice": "how to read the answer"}
		for name, about := range t.output {
			texts[name] = about
		}
		if out[t.name], err = answers.Object(texts, append([]string{"notice"}, t.required...)...); err != nil {
			panic("mcp: " + err.Error())
		}
	}
	return out
})

// hideOutputs lists tools without output schemas to clients whose version of the protocol has none.
func hideOutputs(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListToolsResult)
		if r, is := req.(*sdk.ListToolsRequest); !ok || !is || structured(r.ProtocolVersion()) {
			return res, err
		}
		for i, t := range list.Tools {
			plain := *t // the tool itself is shared
			plain.OutputSchema = nil
			list.Tools[i] = &plain
		}
		return list, err
	}
}
