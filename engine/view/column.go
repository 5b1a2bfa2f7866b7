package view

import (
	"maps"
	"slices"

	"txlens/engine/api"
)

// list is what a view can have a portion of.
type list interface {
	named(member string)
	// grow adds items until the list has as many as the rank says, and reports whether all
	// of them fit.
	grow(k rank, s shape, left *int) bool
	put(out *api.Result)
	omissions(out []api.Omission) []api.Omission
}

// column is the list of one member.
type column[T any] struct {
	member, part string
	all          []T
	order        func() []int    // the indices by importance; nil: as they are
	short        func(T, form) T // nil: items have one form
	inner        func(T) int     // counts what its short form leaves out; nil: nothing
	units        int             // what an omission counts, if not items
	also         func(out []api.Omission, kept []T) []api.Omission
	set          func(*api.Result, []T)

	sorted []int
	kept   map[int]portion[T]
}

// portion is one item as the view has it.
type portion[T any] struct {
	item T
	size int
}

// briefest is the shortest form of items.
var briefest = form{text: 120, data: 0, items: 1}

func (c *column[T]) named(member string) { c.member, c.kept = member, map[int]portion[T]{} }

func (c *column[T]) grow(k rank, s shape, left *int) bool {
	for n := range min(len(c.all), k.upto) {
		i := c.index(n)
		if _, has := c.kept[i]; has && !k.whole {
			continue
		}
		if !c.add(i, c.forms(k, s, c.all[i]), left) {
			return false
		}
	}
	return true
}

func (c *column[T]) index(n int) int {
	if c.order == nil {
		return n
	}
	if c.sorted == nil {
		c.sorted = c.order()
	}
	return c.sorted[n]
}

// forms are what is tried of an item, the best first.
func (c *column[T]) forms(k rank, s shape, item T) []T {
	if c.short == nil {
		return []T{item}
	}
	brief := c.short(item, briefest)
	switch {
	case k.brief:
		return []T{brief}
	case k.whole && sizeOf(item) <= s.limit/2: // others need room, too
		return []T{item, c.short(item, s.long), brief}
	}
	return []T{c.short(item, s.long), brief}
}

// add keeps the first form of an item that fits.
func (c *column[T]) add(i int, forms []T, left *int) bool {
	before := c.kept[i].size
	opening := 0
	if len(c.kept) == 0 { // a list without items may be missing
		opening = len(c.member) + len(`"":[],`)
	}
	for _, item := range forms {
		size := sizeOf(item) + len(",")
		if more := size - before + opening; more <= *left {
			*left -= more
			c.kept[i] = portion[T]{item, size}
			return true
		}
	}
	return false
}

// items are those that are kept, in the order of the result.
func (c *column[T]) items() []T {
	if c.all == nil {
		return nil
	}
	out := make([]T, 0, len(c.kept))
	for _, i := range slices.Sorted(maps.Keys(c.kept)) {
		out = append(out, c.kept[i].item)
	}
	return out
}

func (c *column[T]) put(out *api.Result) {
	if len(c.all) > 0 {
		c.set(out, c.items())
	}
}

func (c *column[T]) omissions(out []api.Omission) []api.Omission {
	total, kept := len(c.all), len(c.kept)
	if c.units > 0 {
		total, kept = c.units, c.units*kept
	}
	out = omit(out, c.member, c.part, total, kept)
	if c.inner != nil {
		out = omit(out, c.member+"."+innerNames[c.member], c.part, c.count(c.all), c.count(c.items()))
	}
	if c.also != nil {
		out = c.also(out, c.items())
	}
	return out
}

// innerNames are the lists that the short form of an item cuts.
var innerNames = map[string]string{"findings": "evidence", "balanceChanges": "tokens"}

func (c *column[T]) count(items []T) (n int) {
	for i := range items {
		n += c.inner(items[i])
	}
	return n
}
