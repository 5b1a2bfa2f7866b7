package llm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Price is what tokens cost, in nano-dollars each: $3 per million tokens is 3,000.
type Price struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Cost returns the cost in nano-dollars.
func (p Price) Cost(u Usage) int64 {
	return u.Input*p.Input + u.Output*p.Output + u.CacheRead*p.CacheRead + u.CacheWrite*p.CacheWrite
}

// Most returns the highest cost of one attempt of a request, in nano-dollars.
func (p Price) Most(r *Request) int64 {
	return r.MostInput()*max(p.Input, p.CacheRead, p.CacheWrite) + r.MaxOutput*p.Output
}

// maxPrice is one dollar per token. With the largest accepted usage of a turn all sums stay
// far below 2^63.
const maxPrice = 1_000_000_000

// kinds returns the names of the prices in settings.
func (p *Price) kinds() []priceKind {
	return []priceKind{{"input", &p.Input}, {"output", &p.Output}, {"cache-read", &p.CacheRead}, {"cache-write", &p.CacheWrite}}
}

type priceKind struct {
	name  string
	value *int64
}

// MarshalText implements encoding.TextMarshaler in the form that UnmarshalText reads.
func (p Price) MarshalText() ([]byte, error) {
	if p == (Price{}) {
		return []byte("0"), nil
	}
	var parts []string
	for _, k := range p.kinds() {
		parts = append(parts, k.name+":"+strconv.FormatInt(*k.value, 10))
	}
	return []byte(strings.Join(parts, ",")), nil
}

// UnmarshalText implements encoding.TextUnmarshaler: "input:5000,output:25000,
// cache-read:500,cache-write:6250", whole nano-dollars per token in any order, or "0"
// for a model that costs nothing. Without the two of the cache, its tokens cost what
// other input does.
func (p *Price) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*p = Price{}
		return nil
	}
	read := Price{-1, -1, -1, -1}
	for _, part := range strings.Split(string(text), ",") {
		if err := read.set(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	if read.Input < 0 || read.Output < 0 {
		return errors.New(`want input and output, such as "input:5000,output:25000", or "0"`)
	}
	for _, v := range []*int64{&read.CacheRead, &read.CacheWrite} {
		if *v < 0 {
			*v = read.Input
		}
	}
	*p = read
	return nil
}

func (p *Price) set(part string) error {
	name, digits, _ := strings.Cut(part, ":")
	for _, k := range p.kinds() {
		if k.name != strings.TrimSpace(name) {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		switch {
		case *k.value >= 0:
			return fmt.Errorf("%s stands there twice", k.name)
		case err != nil:
			return fmt.Errorf("%s: %q is no whole number of nano-dollars per token", k.name, digits)
		case n > maxPrice:
			return fmt.Errorf("%s: %d is more than a dollar per token", k.name, n)
		}
		*k.value = int64(n)
		return nil
	}
	return fmt.Errorf("%q is no kind of token: want input, output, cache-read or cache-write", name)
}
