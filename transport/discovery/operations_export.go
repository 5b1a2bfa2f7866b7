package discovery

import (
	"slices"
	"strings"

	"txlens/engine/export"
)

// opExport is a finished result in another format.
func opExport() operation {
	var list strings.Builder
	var bodies []media
	for _, f := range export.Formats() {
		list.WriteString("\n\n`" + f.Name() + "`: " + f.Doc + ".")
		kind, _, _ := strings.Cut(f.Media, ";")
		if !slices.ContainsFunc(bodies, func(m media) bool { return m.kind == kind }) {
			bodies = append(bodies, textOf(kind))
		}
	}
	read := opRecover()
	answers := slices.Clone(read.answers)
	answers[0].text, answers[0].bodies = "The file.", bodies
	return operation{
		method: "get", path: "/explain/run/{requestId}/export/{format}", id: "exportRun", tag: "analysis", payment: read.payment,
		summary: "Write a finished result in the format of another program",
		text:    "Text that a spreadsheet would take for a formula begins with a single quote. The formats are:" + list.String(),
		params: []parameter{
			{name: "requestId", text: "The id of a run or of a job."},
			{name: "format", text: "The name of a format.", schema: schema{"enum": anys(export.Names())}},
		},
		answers: answers,
	}
}
