package check

import (
	"cmp"
	"slices"
	"sync"
)

// registered are the checks that the files of this package declare, each in its own.
var registered []*Check

// register adds a check. It runs while the package is initialised.
func register(c *Check) *Check {
	registered = append(registered, c)
	return c
}

// checks are all checks in the order of results. The rules, the claims of a model and the
// documentation have no other list.
var checks = sync.OnceValue(func() []*Check {
	slices.SortFunc(registered, func(a, b *Check) int { return cmp.Compare(a.order, b.order) })
	return registered
})

// Listed are the checks of which results have a line.
func Listed() []*Check { return slices.Clone(listed()) }

var listed = sync.OnceValue(func() []*Check {
	return slices.DeleteFunc(slices.Clone(checks()), func(c *Check) bool { return !c.Listed() })
})

// rules are those of all checks, by their rank as a cause.
var rules = sync.OnceValue(func() (out []*rule) {
	for _, c := range checks() {
		for i := range c.rules {
			out = append(out, &c.rules[i])
		}
	}
	return out
})
