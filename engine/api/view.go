package api

import "strings"

// View says how much of a result is sent.
type View string

// The views.
const (
	ViewSummary  View = "summary"  // at most 8 KiB
	ViewStandard View = "standard" // at most 64 KiB
	ViewFull     View = "full"     // everything
)

// Views lists all views, the smallest first.
func Views() []View { return []View{ViewSummary, ViewStandard, ViewFull} }

// ViewNames lists the names of all views.
func ViewNames() []string {
	return []string{string(ViewSummary), string(ViewStandard), string(ViewFull)}
}

// ParseView reads the name of a view. The empty name is the full view. The error is a
// *BadRequest.
func ParseView(name string) (View, error) {
	for _, v := range Views() {
		if string(v) == name {
			return v, nil
		}
	}
	if name == "" {
		return ViewFull, nil
	}
	return "", &BadRequest{"view", "must be one of " + strings.Join(ViewNames(), ", ")}
}

// ViewInfo says what a view leaves out of a result. A full result has none.
type ViewInfo struct {
	Name    View       `json:"name"`
	Omitted []Omission `json:"omitted"`
	// More says how to get what was left out; empty where it cannot be had.
	More string `json:"more,omitempty"`
}

// Omission is one member of a result of which a view leaves something out.
type Omission struct {
	Member string `json:"member"`
	Total  int    `json:"total"`          // items of the full result; bytes, where the member is a text
	Kept   int    `json:"kept"`           // of them in this view
	Part   string `json:"part,omitempty"` // the part of the result that lists all items
}
