// Package export writes results in formats of other programs: tables of CSV for
// spreadsheets, drawings of SVG, and the source of a Mermaid diagram. Each format is a row
// of one registry, which the command line, the server and its documents read.
//
// The formats are pure functions of a result. Text comes from the chain, so a cell that a
// spreadsheet would take for a formula is marked as text.
package export

import (
	"io"
	"strings"

	"txlens/engine/api"
	"txlens/engine/report"
)

// Kinds of formats.
const (
	CSV     = "csv"
	SVG     = "svg"
	Mermaid = "mmd"
)

// Format is one way to write a result.
type Format struct {
	Content string // what of the result: transfers, flow ...
	Kind    string // CSV, SVG or Mermaid; it is the suffix of the file
	Media   string // type of the body over HTTP
	Doc     string // what it has
	Write   func(w io.Writer, r *api.Result) error
}

// Name is the name of the format, and of a file of it.
func (f *Format) Name() string { return f.Content + "." + f.Kind }

// Types of bodies. Mermaid has none that is registered.
const (
	mediaCSV  = "text/csv; charset=utf-8"
	mediaSVG  = "image/svg+xml"
	mediaText = "text/plain; charset=utf-8"
)

var formats = []Format{
	{"transfers", CSV, mediaCSV, "token movements, one in a row", transfers.write},
	{"balances", CSV, mediaCSV, "net change of each token at each account", balances.write},
	{"calls", CSV, mediaCSV, "call frames in execution order", calls.write},
	{"events", CSV, mediaCSV, "logs in execution order", events.write},
	{"flow", SVG, mediaSVG, "graph of what moved between the accounts", report.FlowSVG},
	{"sequence", SVG, mediaSVG, "sequence diagram of calls and movements", report.SequenceSVG},
	{"sequence", Mermaid, mediaText, "source of the sequence diagram in Mermaid's language", diagram},
}

// Formats lists all formats.
func Formats() []Format { return formats }

// Names lists the names of all formats.
func Names() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].Name()
	}
	return names
}

// Contents lists what can be had in a kind of format.
func Contents(kind string) (list []string) {
	for i := range formats {
		if formats[i].Kind == kind {
			list = append(list, formats[i].Content)
		}
	}
	return list
}

// Find returns the format of a name.
func Find(name string) (*Format, bool) {
	for i := range formats {
		if formats[i].Name() == name {
			return &formats[i], true
		}
	}
	return nil, false
}

func diagram(w io.Writer, r *api.Result) error {
	source := r.MermaidDiagram
	if source == "" {
		source = report.Mermaid(r)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(source, "\n")+"\n")
	return err
}
