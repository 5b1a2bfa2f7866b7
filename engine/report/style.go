package report

import "strings"

// Style is the style sheet of the page, for other pages that are to look the same:
// their sections are of class card.
func Style() string {
	var b strings.Builder
	if err := pageTemplate().ExecuteTemplate(&b, "style", nil); err != nil {
		panic("report: the style sheet is no template: " + err.Error()) // it is part of the binary
	}
	return b.String()
}
