package discovery

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/view"
)

// opPart is one page of a finished result.
func opPart() operation {
	var list strings.Builder
	for _, p := range view.Parts() {
		list.WriteString("\n\n`" + p.Name + "`: " + p.Doc + ".")
	}
	text := func(name, about string) parameter {
		return parameter{name: name, text: about, schema: schema{"type": "string", "maxLength": 128}, query: true}
	}
	read := opRecover()
	answers := slices.Clone(read.answers)
	answers[0].text, answers[0].bodies = "One page.", []media{jsonOf("Page")}
	return operation{
		method: "get", path: "/explain/run/{requestId}/{part}", id: "readPart", tag: "analysis", payment: read.payment,
		summary: "Read one part of a finished result page by page",
		text:    "For a result that is too long for its reader. A page ends before its items exceed 1 MiB; next is where the following one begins. The parts are:" + list.String(),
		params: []parameter{
			{name: "requestId", text: "The id of a run or of a job."},
			{name: "part", text: "The name of a part.", schema: schema{"enum": anys(view.PartNames())}},
			{name: "from", text: "Position of the first item among those that match, 0 by default.", schema: schema{"type": "integer", "minimum": 0}, query: true},
			{name: "limit", text: "Most items of the page, 100 by default.", schema: schema{"type": "integer", "minimum": 1, "maximum": 1000}, query: true},
			{
				name: "status", text: "Only call frames and logs of this outcome.",
				schema: schema{"enum": []any{string(api.NodeOK), string(api.NodeFailed), string(api.NodeReverted)}}, query: true,
			},
			text("address", "Only items that name this address."),
			text("text", "Only items that contain this text, in upper or lower case."),
		},
		answers: answers,
	}
}
