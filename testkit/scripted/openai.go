package scripted

import (
	"fmt"
)

// completions words a turn in the chunks of Chat Completions.
func completions(n int, model string, usage bool, t *Turn) (events []string) {
	chunk := func(choices []any, rest object) {
		o := object{"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
		for k, v := range rest {
			o[k] = v
		}
		events = append(events, "data: "+encode(o)+"\n\n")
	}
	choice := func(delta object, finish any) {
		chunk([]any{object{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
	}
	if !t.Bare {
		choice(object{"role": "assistant", "content": ""}, nil)
	}
	for _, p := range t.Think {
		choice(object{"reasoning_content": p}, nil)
	}
	for _, p := range t.Text {
		choice(object{"content": p}, nil)
	}
	for i, c := range t.Calls {
		for _, piece := range callPieces(n, i, c, t.Bare) {
			choice(object{"tool_calls": []any{piece}}, nil)
		}
	}
	choice(object{}, t.stop("stop", "tool_calls"))
	if usage && !t.Bare {
		in := t.Usage.Input + t.Usage.CacheRead + t.Usage.CacheWrite
		chunk([]any{}, object{"usage": object{"prompt_tokens": in, "completion_tokens": t.Usage.Output, "total_tokens": in + t.Usage.Output,
			"prompt_tokens_details": object{"cached_tokens": t.Usage.CacheRead, "cache_write_tokens": t.Usage.CacheWrite}}})
	}
	return append(events, "data: [DONE]\n\n")
}

// callPieces words one call: the first piece names it.
func callPieces(n, i int, c Call, bare bool) (pieces []object) {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", n, i)
	}
	first := object{"index": i, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": ""}}
	if bare {
		first = object{"function": object{"name": c.Name, "arguments": ""}}
	}
	rest := c.Input
	if len(rest) == 1 { // a server that does not split sends all of it at once
		first["function"] = object{"name": c.Name, "arguments": rest[0]}
		rest = nil
	}
	pieces = append(pieces, first)
	for _, p := range rest {
		piece := object{"index": i, "function": object{"arguments": p}}
		if bare {
			delete(piece, "index")
		}
		pieces = append(pieces, piece)
	}
	return pieces
}
