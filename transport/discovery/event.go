package discovery

import (
	"maps"
	"slices"
	"strings"

	"txlens/engine/explain"
)

// eventOrder is that of a stream; the last three end one.
var eventOrder = []explain.EventType{
	explain.EventPreflightStart, explain.EventPreflightStatus, explain.EventPreflightDone, explain.EventIteration, explain.EventAgentText,
	explain.EventAgentStatus, explain.EventToolCall, explain.EventToolResult, explain.EventSkillCall, explain.EventTokens, explain.EventHeartbeat, explain.EventComplete,
	explain.EventResult, explain.EventReport, explain.EventError,
}

// eventSchema is the name of the schema of an event: preflight_start has
// PreflightStartEvent.
func eventSchema(t explain.EventType) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(t), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Event"
}

// addEvents makes a schema for each type of event, out of that of explain.Event
// and of explain.Layouts, and one for all of them.
func addEvents(all map[string]schema) {
	members := all["Event"]["properties"].(schema)
	delete(all, "Event")
	members["html"] = schema{"type": "string", "description": words["Event.html"]}
	var refs []any
	mapping := map[string]string{}
	for _, t := range eventOrder {
		name := eventSchema(t)
		var s schema
		if t == explain.EventResult {
			s = resultEvent(all["ExplanationResult"], members)
		} else {
			s = layoutEvent(t, members)
		}
		s["description"] = words[name]
		all[name] = s
		refs = append(refs, ref(name))
		mapping[string(t)] = componentPrefix + name
	}
	all["StreamEvent"] = schema{
		"description": words["StreamEvent"], "oneOf": refs,
		"discriminator": schema{"propertyName": "type", "mapping": mapping},
	}
}

// envelope is what every event has.
func envelope(t explain.EventType, members schema) schema {
	id := maps.Clone(members["requestId"].(schema))
	id["format"] = "uuid"
	return schema{"type": schema{"type": "string", "const": string(t), "description": words["Event.type"]}, "requestId": id}
}

func layoutEvent(t explain.EventType, members schema) schema {
	props, required := envelope(t, members), []string{"type", "requestId"}
	for _, m := range explain.Layouts[t] {
		name, maybe := strings.CutSuffix(m, "?")
		props[name] = members[name]
		if !maybe {
			required = append(required, name)
		}
	}
	if t == explain.EventError {
		code := maps.Clone(members["code"].(schema))
		code["enum"] = anys(explain.CodesOf(func(c explain.ErrorCode) bool { return c.Event }))
		props["code"] = code
	}
	return schema{"type": "object", "properties": props, "required": required}
}

// resultEvent has the members of the result beside its own: so they stand in the
// frame.
func resultEvent(result, members schema) schema {
	props := envelope(explain.EventResult, members)
	maps.Copy(props, result["properties"].(schema))
	var required []string
	for _, m := range result["required"].([]any) {
		required = append(required, m.(string))
	}
	return schema{"type": "object", "properties": props, "required": slices.Concat([]string{"type", "requestId"}, required)}
}
