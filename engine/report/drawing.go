package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"txlens/engine/api"
)

// drawing is a diagram as shapes; the template writes it as SVG. Drawn here and
// not by a script, it needs none; by our own few lines and not by a library,
// since no layout library written in Go alone is to be had from the module proxy,
// and one that carries Graphviz or a JavaScript engine with it would be larger
// than all the rest of the program.
type drawing struct {
	ID          string // unique on the page
	Title, Desc string // read out in place of the picture
	W, H        int
	common      string // class that all lines have
	Strokes     []stroke
	Boxes       []box
	Texts       []caption
	Legend      []key
	Note        string // what is not drawn
}

// key says what a colour of line means.
type key struct{ Class, Text string }

// explained keeps the keys of the lines that there are.
func (d *drawing) explained(all ...key) {
	for _, k := range all {
		class := strings.TrimSpace(d.common + " " + k.Class)
		if slices.ContainsFunc(d.Strokes, func(s stroke) bool { return s.Class == class }) {
			d.Legend = append(d.Legend, k)
		}
	}
}

// stroke is a line with what ends it.
type stroke struct{ Class, Path string }

// box is a rounded rectangle with lines of text in it.
type box struct {
	Class      string
	X, Y, W, H int
	Title      string // in full, shown on pointing
	Texts      []caption
}

// caption is one line of text; its class says where it is anchored.
type caption struct {
	Class string
	X, Y  int
	Text  string
}

// advance is the width of a character in hundredths of the font size. It is a
// little more than the widest common interface font takes, since the reader's
// font is not known here: text that was given too much room looks better than
// text that runs over its box.
func advance(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case strings.ContainsRune("ijlIt.,:;'!|()[] fr1-", r):
		return 44
	case strings.ContainsRune("mwMW%@…→", r):
		return 102
	case r < 0x80 && unicode.IsUpper(r):
		return 74
	case pictured(r):
		return 130
	case r < 0x1100:
		return 65
	}
	return 105
}

// pictured reports whether a character may be drawn as a picture, by a font that is wider
// than all others: Noto Color Emoji takes 1.245 times the font size for each.
func pictured(r rune) bool {
	return r >= 0x1f000 && r < 0x20000 || r >= 0x2300 && r < 0x2800 || r >= 0x2b00 && r < 0x2c00
}

// textWidth is the room that s takes at a font size, in pixels.
func textWidth(s string, font int) int {
	sum := 0
	for _, r := range s {
		sum += advance(r)
	}
	return (sum*font + 99) / 100
}

// clip cuts clean text to a width in pixels.
func clip(s string, font, width int) string {
	if textWidth(s, font) <= width {
		return s
	}
	sum, room := 0, width*100/font-advance('…')
	for i, r := range s {
		if sum += advance(r); sum > room {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// Font sizes within diagrams, as the style sheet has them.
const (
	fontText  = 12
	fontSmall = 11
)

// arrowHead is one at x, y that points to the right, or to the left.
func arrowHead(x, y int, left bool) string {
	d := -7
	if left {
		d = 7
	}
	return fmt.Sprintf("M%d %dl%d -4v8z", x, y, d)
}

// title is who a participant is, and what stands below that.
func (p party) title() (name, below string) {
	switch {
	case p.Label != "":
		return p.Label, p.Short
	case p.Role != "":
		return p.Role, p.Short
	}
	return p.Short, ""
}

// width is the room that a participant's box takes, up to a bound.
func (p party) width(most int) int {
	name, below := p.title()
	return min(max(textWidth(name, fontText), textWidth(below, fontSmall))+18, most)
}

// mailbox draws a participant: who it is, and its address below.
func mailbox(p party, x, y, w, h int, class string) box {
	name, below := p.title()
	b := box{Class: class, X: x, Y: y, W: w, H: h, Title: strings.TrimSpace(p.Label + " " + p.Address)}
	middle := y + h/2
	if below == "" {
		b.Texts = []caption{{"name", x + w/2, middle + 4, clip(name, fontText, w-12)}}
		return b
	}
	b.Texts = []caption{
		{"name", x + w/2, middle - 3, clip(name, fontText, w-12)},
		{"sub", x + w/2, middle + 13, clip(below, fontSmall, w-8)},
	}
	return b
}

// describe lists sentences for who hears the picture; the rest is only counted.
func describe(sentences []string) string {
	const most = 12
	s := strings.Join(head(sentences, most), "; ")
	if more := len(sentences) - most; more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	return api.OneLine(s, 1500)
}
