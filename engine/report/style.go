package report

import "strings"

// Style is the style sheet of the page, for other pages that are to look the same.
func Style() string {
	_, after, _ := strings.Cut(pageSource, "<style>")
	style, _, _ := strings.Cut(after, "</style>")
	return style
}
