// Package catalog says which model of which provider answers for a model of the
// interface, and what it costs.
package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/anthropic"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/engine/agent/llm/openai"
	"txlens/engine/api"
)

// Kind is the format that the provider speaks: Off, or a key of providers.
type Kind string

const (
	Off       Kind = "off" // no model: the rules alone
	Anthropic Kind = "anthropic"
	OpenAI    Kind = "openai" // any endpoint that speaks Chat Completions
)

// provider is what is known of a kind.
type provider struct {
	new func(llmhttp.Config) (llm.Provider, error)
	// id names a model of the interface as the vendor does, and prices are those of its
	// list; nil where the settings must say it.
	id     func(name string) string
	prices map[string]llm.Price
}

// providers registers the providers. Settings, help and documents derive from it.
var providers = map[Kind]provider{
	Anthropic: {new: maker(anthropic.New), id: vendorID, prices: list},
	OpenAI:    {new: maker(openai.New)},
}

// Kinds lists all kinds: Off, then the others in alphabetical order.
func Kinds() []Kind {
	return append([]Kind{Off}, slices.Sorted(maps.Keys(providers))...)
}

// Every stands for all models of the interface in the two maps of Config.
const Every = "*"

// Config is the settings of the provider.
type Config struct {
	Kind Kind // empty: Off
	llmhttp.Config

	// Models maps models of the interface, or Every, to names of the provider. What is
	// not in it has the vendor's own name; where the kind knows none, all have to be in it.
	Models map[string]string
	// Prices are by model of the interface, or Every. What is not in it costs
	// the vendor's list price; where the kind has none, all have to be in it: a model of
	// one's own costs "0", which is not to be guessed.
	Prices map[string]llm.Price
}

// Model is what answers for a model of the interface.
type Model struct {
	Name  string // of the interface
	ID    string // of the provider
	Price llm.Price
}

// opus is the price of the three models of that line.
var opus = llm.Price{Input: 5000, Output: 25000, CacheRead: 500, CacheWrite: 6250}

// list has Anthropic's prices per token as of October 2026, with cache writes that
// live for five minutes: platform.claude.com/docs/en/about-claude/pricing.
var list = map[string]llm.Price{
	"model-opus-5":             opus,
	"model-opus-4-8":           opus,
	"model-opus-4-7":           opus,
	"model-sonnet-4-6":         {Input: 3000, Output: 15000, CacheRead: 300, CacheWrite: 3750},
	"model-haiku-4-5-20251001": {Input: 1000, Output: 5000, CacheRead: 100, CacheWrite: 1250},
}

// vendorID puts the vendor's name in the place of the word that the interface has
// there: model-opus-5 is claude-opus-5.
func vendorID(name string) string { return "claude-" + strings.TrimPrefix(name, "model-") }

// Model looks a model of the interface up; empty is the default one. It errs for
// what is none, and for what the settings leave open.
func (c Config) Model(name string) (Model, error) {
	if name == "" {
		name = api.DefaultModel
	}
	if !slices.Contains(api.ModelNames(), name) {
		return Model{}, fmt.Errorf("%q is no model: want one of %s", name, strings.Join(api.ModelNames(), ", "))
	}
	m := Model{Name: name}
	id, mapped := lookUp(c.Models, name)
	price, priced := lookUp(c.Prices, name)
	known := providers[c.Kind]
	if !mapped && known.id != nil {
		id = known.id(name)
	}
	if !priced {
		price, priced = known.prices[name]
	}
	switch {
	case strings.TrimSpace(id) == "":
		return Model{}, fmt.Errorf("%s: say which model of the provider it is", name)
	case !priced:
		return Model{}, fmt.Errorf("%s: say what its tokens cost", name)
	}
	m.ID, m.Price = id, price
	return m, nil
}

func lookUp[V any](m map[string]V, name string) (V, bool) {
	v, ok := m[name]
	if !ok {
		v, ok = m[Every]
	}
	return v, ok
}

// New makes the provider of the settings: nil with Off. It checks all of them, and
// connects nowhere. What it makes has a method Close, which drops idle connections.
func New(c Config) (llm.Provider, error) {
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(c.Models)), slices.Sorted(maps.Keys(c.Prices))) {
		if name != Every && !slices.Contains(api.ModelNames(), name) {
			return nil, fmt.Errorf("%q is no model: want %q or one of %s", name, Every, strings.Join(api.ModelNames(), ", "))
		}
	}
	if c.Kind == "" || c.Kind == Off {
		return nil, nil
	}
	p, ok := providers[c.Kind]
	if !ok {
		return nil, fmt.Errorf("%q is not a kind of provider: want one of %q", c.Kind, Kinds())
	}
	for _, name := range api.ModelNames() {
		if _, err := c.Model(name); err != nil {
			return nil, err
		}
	}
	if c.Key == "" && c.BaseURL == "" {
		return nil, errors.New("the provider wants a key")
	}
	return p.new(c.Config)
}

// maker makes the constructor of a client one of a provider. A client that could not be
// made becomes a provider that is nil.
func maker[P llm.Provider](construct func(llmhttp.Config) (P, error)) func(llmhttp.Config) (llm.Provider, error) {
	return func(c llmhttp.Config) (llm.Provider, error) {
		p, err := construct(c)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}
