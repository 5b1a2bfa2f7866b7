package discovery

import (
	"maps"
	"slices"
	"strings"

	"txlens/engine/api"
)

// eventOrder is the order in a stream; each of the last three ends it.
var eventOrder = []api.EventType{
	api.EventPreflightStart, api.EventPreflightStatus, api.EventPreflightDone, api.EventIteration, api.EventAgentText,
	api.EventAgentStatus, api.EventToolCall, api.EventToolResult, api.EventSkillCall, api.EventTokens, api.EventHeartbeat, api.EventComplete,
	api.EventResult, api.EventReport, api.EventError,
}

// eventSchema returns the schema name of an event: PreflightStartEvent for preflight_start.
func eventSchema(t api.EventType) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(t), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Event"
}

// addEvents adds a schema for each type of event, derived from api.Event and api.Layouts, and
// one for all of them.
func addEvents(all map[string]schema) {
	members := all["Event"]["properties"].(schema)
	delete(all, "Event")
	members["html"] = schema{"type": "string", "description": memberTexts["Event.html"]}
	var refs []any
	mapping := map[string]string{}
	for _, t := range eventOrder {
		name := eventSchema(t)
		var s schema
		if t == api.EventResult {
			s = resultEvent(all["ExplanationResult"], members)
		} else {
			s = layoutEvent(t, members)
		}
		s["description"] = memberTexts[name]
		all[name] = s
		refs = append(refs, ref(name))
		mapping[string(t)] = componentPrefix + name
	}
	all["StreamEvent"] = schema{
		"description": memberTexts["StreamEvent"], "oneOf": refs,
		"discriminator": schema{"propertyName": "type", "mapping": mapping},
	}
}

// envelope are the members of every event.
func envelope(t api.EventType, members schema) schema {
	id := maps.Clone(members["requestId"].(schema))
	id["format"] = "uuid"
	return schema{"type": schema{"type": "string", "const": string(t), "description": memberTexts["Event.type"]}, "requestId": id}
}

func layoutEvent(t api.EventType, members schema) schema {
	props, required := envelope(t, members), []string{"type", "requestId"}
	for _, m := range api.Layouts()[t] {
		name, maybe := strings.CutSuffix(m, "?")
		props[name] = members[name]
		if !maybe {
			required = append(required, name)
		}
	}
	if t == api.EventError {
		code := maps.Clone(members["code"].(schema))
		code["enum"] = anys(api.CodesOf(func(c api.ErrorCode) bool { return c.Event }))
		props["code"] = code
	}
	return schema{"type": "object", "properties": props, "required": required}
}

// resultEvent combines the members of the envelope and of the result, as in the frame.
func resultEvent(result, members schema) schema {
	props := envelope(api.EventResult, members)
	maps.Copy(props, result["properties"].(schema))
	var required []string
	for _, m := range result["required"].([]any) {
		required = append(required, m.(string))
	}
	return schema{"type": "object", "properties": props, "required": slices.Concat([]string{"type", "requestId"}, required)}
}
