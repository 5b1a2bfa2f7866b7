package chain

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// extended is the table with the chains of a user; nil: the embedded one alone.
var extended atomic.Pointer[index]

// Declare makes a chain that is in no table. Nothing is assumed of it but that its coin has the
// decimals given; stack is the name of its node software, other if it is empty.
func Declare(id uint64, name string, coin Coin, stack string) (*Chain, error) {
	slug := slugOf(name)
	if id == 0 || slug == "" {
		return nil, errors.New("a chain needs an id and a name with letters")
	}
	if stack == "" {
		stack = generic{}.Name()
	}
	s, ok := stacks[stack]
	if !ok {
		return nil, fmt.Errorf("unknown stack %q; want one of %s", stack, strings.Join(slices.Sorted(maps.Keys(stacks)), ", "))
	}
	c := &Chain{Slug: slug, ID: id, Name: name, Native: coin, Stack: s, Popularity: len(embedded().all)}
	if other := embedded().conflict(c); other != nil {
		return nil, fmt.Errorf("id or name are those of %s (%d), which is in the table; --rpc gives it endpoints", other.Slug, other.ID)
	}
	return c, nil
}

// slugOf is a name in lower case with a hyphen between its words.
func slugOf(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-")
}

// conflict is the chain of the index that has the id or the slug of c; nil: none.
func (x *index) conflict(c *Chain) *Chain {
	if other := x.byID[c.ID]; other != nil {
		return other
	}
	return x.bySlug[c.Slug]
}

// Extend adds chains that Declare made to the table, in place of those that were added before.
// The table is that of the process: call it at the start, before anything is asked of the table.
func Extend(list []*Chain) error {
	if len(list) == 0 {
		extended.Store(nil)
		return nil
	}
	old := embedded()
	x := &index{all: slices.Clone(old.all), byID: maps.Clone(old.byID), bySlug: maps.Clone(old.bySlug)}
	for _, c := range list {
		if other := x.conflict(c); other != nil {
			return fmt.Errorf("chain %d: id or name are those of %s", c.ID, other.Slug)
		}
		x.all = append(x.all, c)
		x.byID[c.ID], x.bySlug[c.Slug] = c, c
	}
	extended.Store(x)
	return nil
}

// load is the table as it is now.
func load() *index {
	if x := extended.Load(); x != nil {
		return x
	}
	return embedded()
}
