package report

import (
	"fmt"
	"io"
	"strings"

	"txlens/engine/api"
)

// FlowSVG writes the graph of funds as a file of SVG.
func FlowSVG(w io.Writer, r *api.Result) error {
	return writeSVG(w, newNames(r).fundsGraph(r), "No tokens or coins moved.")
}

// SequenceSVG writes the sequence diagram as a file of SVG.
func SequenceSVG(w io.Writer, r *api.Result) error {
	return writeSVG(w, newNames(r).sequence(r), "There is no call to draw.")
}

// svgRoot has what the page around a drawing gives to it otherwise: the namespace, the
// font and the style sheet.
const svgRoot = `<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif" `

// writeSVG writes the drawing that the page has. Of one that is nil it writes the words.
func writeSVG(w io.Writer, d *drawing, words string) error {
	if d == nil {
		d = &drawing{ID: "nothing", Title: words, W: 320, H: 40, Texts: []caption{{"words start", 10, 24, words}}}
	}
	var b strings.Builder
	if err := pageTemplate().ExecuteTemplate(&b, "drawing", d); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	_, rest, found := strings.Cut(b.String(), "<svg ")
	head, rest, opened := strings.Cut(rest, ">")
	shapes, _, closed := strings.Cut(rest, "</svg>")
	if !found || !opened || !closed {
		return fmt.Errorf("draw: the template of drawings has no element svg")
	}
	_, err := fmt.Fprintf(w, "%s%s>\n<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"var(--card)\"/>\n%s</svg>\n", svgRoot, head, Style(), shapes)
	if err != nil {
		return fmt.Errorf("write the drawing: %w", err)
	}
	return nil
}
