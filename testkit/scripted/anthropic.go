package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

type object = map[string]any

// messages words a turn in the events of the Messages API.
func messages(n int, model string, t *Turn) (events []string) {
	add := func(kind string, o object) {
		o["type"] = kind
		events = append(events, "event: "+kind+"\ndata: "+encode(o)+"\n\n")
	}
	index := 0
	block := func(start object, deltas ...object) {
		add("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", object{"index": index, "delta": d})
		}
		add("content_block_stop", object{"index": index})
		index++
	}
	input := object{
		"input_tokens":                t.Usage.Input,
		"cache_creation_input_tokens": t.Usage.CacheWrite,
		"cache_read_input_tokens":     t.Usage.CacheRead,
		"output_tokens":               min(t.Usage.Output, 1),
	}
	add("message_start", object{"message": object{"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": input}})
	add("ping", object{})
	if len(t.Think) > 0 {
		ds := deltas("thinking_delta", "thinking", t.Think)
		ds = append(ds, object{"type": "signature_delta", "signature": Sign(strings.Join(t.Think, ""))})
		block(object{"type": "thinking", "thinking": "", "signature": ""}, ds...)
	}
	if t.Redacted != "" {
		block(object{"type": "redacted_thinking", "data": t.Redacted})
	}
	if len(t.Text) > 0 {
		block(object{"type": "text", "text": ""}, deltas("text_delta", "text", t.Text)...)
	}
	for i, c := range t.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%d_%d", n, i)
		}
		block(object{"type": "tool_use", "id": id, "name": c.Name, "input": object{}}, deltas("input_json_delta", "partial_json", c.Input)...)
	}
	add(
		"message_delta",
		object{
			"delta": object{"stop_reason": t.stop("end_turn", "tool_use"), "stop_sequence": nil},
			"usage": object{"output_tokens": t.Usage.Output},
		},
	)
	add("message_stop", object{})
	return events
}

func deltas(kind, member string, pieces []string) (ds []object) {
	for _, p := range pieces {
		ds = append(ds, object{"type": kind, member: p})
	}
	return ds
}

// stop is the reason that goes with the turn.
func (t *Turn) stop(end, calls string) string {
	switch {
	case t.Stop != "":
		return t.Stop
	case len(t.Calls) > 0:
		return calls
	}
	return end
}

// Sign is the signature that comes with thinking. Thinking that comes back with
// another one is refused.
func Sign(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return "signed+" + hex.EncodeToString(sum[:8]) + "="
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers alone go in
	}
	return string(data)
}
