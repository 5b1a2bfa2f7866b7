package tool

import (
	"txlens/engine/api"

	"github.com/go-json-experiment/json"
)

// Page says which part of a list an answer contains.
type Page struct {
	Total  int  `json:"total"`
	Offset int  `json:"offset,omitzero"`
	Next   *int `json:"next,omitempty"` // offset of the following page; absent on the last
}

// pageBytes bounds the JSON of the rows of a page. It leaves room for the other members and
// for the escapes of Mark.
const pageBytes = MaxResult * 2 / 3

// pageOf returns rows from offset on until limit or the bound of bytes is reached, but at
// least one.
func pageOf[T any](total, offset, limit int, row func(int) T) ([]T, Page) {
	rows, size := []T{}, 0
	p := Page{Total: total, Offset: offset}
	for i := offset; i < total; i++ {
		r := row(i)
		text, err := json.Marshal(r, lenient)
		if err != nil {
			continue
		}
		size += len(text) + 1
		if len(rows) == limit || len(rows) > 0 && size > pageBytes {
			p.Next = &i
			break
		}
		rows = append(rows, r)
	}
	return rows, p
}

// Bounds of decoded arguments in an answer.
const (
	maxArgs  = 40   // of one level
	maxElems = 20   // of one array
	argBytes = 3000 // of text in all arguments of one call or event
)

// shortArgs cuts arguments to the bounds of a row.
func shortArgs(args []api.Arg) []api.Arg {
	left := argBytes
	return cutArgs(args, &left)
}

func cutArgs(args []api.Arg, left *int) []api.Arg {
	out := make([]api.Arg, 0, min(len(args), maxArgs))
	for i, a := range args {
		if i == maxArgs || *left <= 0 {
			return append(out, api.Arg{Name: "…", Type: "cut", Value: api.Count(len(args)-i, "more argument")})
		}
		*left -= len(a.Name) + len(a.Type) + 30
		a.Value = cutValue(a.Value, left)
		out = append(out, a)
	}
	return out
}

func cutValue(v any, left *int) any {
	switch v := v.(type) {
	case string:
		if len(v) > 300 {
			v = v[:300] + "…"
		}
		*left -= len(v)
		return v
	case []api.Arg:
		return cutArgs(v, left)
	case []any:
		out := make([]any, 0, min(len(v), maxElems+1))
		for i, e := range v {
			if i == maxElems || *left <= 0 {
				return append(out, "… "+api.Count(len(v)-i, "more element"))
			}
			out = append(out, cutValue(e, left))
		}
		return out
	}
	return v
}
