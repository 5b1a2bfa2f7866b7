package overlay

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/incident"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// ByUser begins the source of all that comes from files of the user.
const ByUser = "user: "

// source names the file in results.
func (r *reader) source() string { return ByUser + r.file }

// bySlug finds a chain of the user or of the table.
func (r *reader) bySlug(slug string) (*chain.Chain, bool) {
	for _, c := range r.chains {
		if strings.EqualFold(c.Slug, slug) {
			return c.Chain, true
		}
	}
	return chain.BySlug(slug)
}

// chainID reads a slug or an id of a known chain, or * for every one.
func (r *reader) chainID(text string) (uint64, error) {
	if text == "*" {
		return 0, nil
	}
	if c, ok := r.bySlug(text); ok {
		return c.ID, nil
	}
	if id, err := strconv.ParseUint(text, 10, 64); err == nil {
		for _, c := range r.chains {
			if c.ID == id {
				return id, nil
			}
		}
		if _, ok := chain.ByID(id); ok {
			return id, nil
		}
	}
	return 0, fmt.Errorf("chain %q is not in the table; a line in chains.tsv adds it", api.OneLine(text, 40))
}

// one is chainID without *.
func (r *reader) one(text string) (uint64, error) {
	if text == "*" {
		return 0, errors.New("name one chain, not *")
	}
	return r.chainID(text)
}

// words checks a text that results show.
func words(what, text string, most int) error {
	switch {
	case text == "":
		return fmt.Errorf("the %s is empty", what)
	case len([]rune(text)) > most:
		return fmt.Errorf("the %s is longer than %d characters", what, most)
	case api.Clean(text, most) != text:
		return fmt.Errorf("the %s has characters that cannot be shown", what)
	}
	return nil
}

// slug checks a category: lower-case letters, digits and _.
func slug(what, text string) error {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return fmt.Errorf("the %s %q has other characters than a to z, 0 to 9 and _", what, api.OneLine(text, 40))
		}
	}
	return nil
}

// once refuses what stands in the files twice.
func (r *reader) once(line int, key string) error {
	if at, twice := r.places[key]; twice {
		return fmt.Errorf("it stands twice, first at %s", at)
	}
	r.places[key] = fmt.Sprintf("%s:%d", r.file, line)
	return nil
}

// label reads: chain, address, name, category, confidence, private or shareable, source.
func (r *reader) label(line int, c []string) error {
	return r.named(line, c[0], c[1], c[2], c[3], c[4], c[5], c[6])
}

// bad reads: chain, address, name, confidence, private or shareable, source.
func (r *reader) bad(line int, c []string) error {
	return r.named(line, c[0], c[1], c[2], label.Reported, c[3], c[4], c[5])
}

func (r *reader) named(line int, chainText, addr, name, category, confidence, sharing, source string) (err error) {
	x := class{category: category, private: true, confidence: label.Curated}
	o := origin{file: r.nth, line: int32(line)}
	if o.at.chain, err = r.chainID(chainText); err != nil {
		return err
	}
	if o.at.address, err = address(addr); err != nil {
		return err
	}
	if err := words("name", name, label.MaxName); err != nil {
		return err
	}
	if err := slug("category", category); err != nil {
		return err
	}
	switch api.LabelConfidence(confidence) {
	case "", api.LabelReviewed:
	case api.LabelOfficial:
		x.confidence = label.Official
	case api.LabelScraped:
		x.confidence = label.Scraped
	default:
		return fmt.Errorf("unknown confidence %q; want official, reviewed or scraped", api.OneLine(confidence, 40))
	}
	switch sharing {
	case "", "private":
	case "shareable":
		x.private = false
	default:
		return fmt.Errorf("%q is neither private nor shareable", api.OneLine(sharing, 40))
	}
	if source == "" {
		source = r.file
	} else if err := words("source", source, label.MaxName); err != nil {
		return err
	}
	x.source = ByUser + source
	return r.put(name, x, o)
}

// put adds a label. Files are read in the order of kinds, and each address is named once: the
// contracts of protocols may be named otherwise by labels.
func (r *reader) put(name string, x class, o origin) error {
	if old, twice := r.labels[o.at]; twice {
		if old.class.slug == "" || x.slug != "" {
			first := r.origins[old.origin]
			return fmt.Errorf("%s stands twice, first at %s:%d", o.at.address.Hex(), r.files[first.file].Name, first.line)
		}
		if x.slug = old.class.slug; x.category == "" {
			x.category = old.class.category
		}
	}
	shared := r.classes[x]
	if shared == nil {
		shared = &x
		r.classes[x] = shared
	}
	r.labels[o.at] = entry{name, shared, int32(len(r.origins))}
	r.origins = append(r.origins, o)
	return nil
}

// token reads: chain, address, symbol, decimals, name.
func (r *reader) token(line int, c []string) (err error) {
	var at place
	if at.chain, err = r.one(c[0]); err != nil {
		return err
	}
	if at.address, err = address(c[1]); err != nil {
		return err
	}
	if err := words("symbol", c[2], label.MaxName); err != nil {
		return err
	}
	d, err := strconv.ParseUint(c[3], 10, 8)
	if err != nil || d > label.MaxDecimals {
		return fmt.Errorf("%q is no number of decimals from 0 to %d", api.OneLine(c[3], 40), label.MaxDecimals)
	}
	if c[4] == "" {
		c[4] = c[2]
	}
	if err := words("name", c[4], 2*label.MaxName); err != nil {
		return err
	}
	if err := r.once(line, fmt.Sprint("token ", at.chain, at.address)); err != nil {
		return err
	}
	decimals := uint8(d)
	r.tokens[at] = label.Token{Address: at.address, Symbol: c[2], Name: c[4], Decimals: &decimals, Source: r.source(), Listed: true}
	return nil
}

// coinDecimals is that of the coin where no column tells: of a chain with the EVM a coin has 10^18
// wei.
const coinDecimals = 18

// chain reads: id, name, endpoints, symbol of the coin, its decimals, stack.
func (r *reader) chain(line int, c []string) error {
	id, err := strconv.ParseUint(c[0], 10, 64)
	if err != nil || id == 0 {
		return fmt.Errorf("%q is no chain id", api.OneLine(c[0], 40))
	}
	if err := words("name", c[1], label.MaxName); err != nil {
		return err
	}
	x := Chain{}
	for _, text := range strings.Split(c[2], ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("an endpoint must be http:// or https:// and a host") // it may have a key
		}
		x.Endpoints = append(x.Endpoints, u.String())
	}
	coin := chain.Coin{Symbol: c[3], Name: c[3], Decimals: coinDecimals}
	if coin.Symbol == "" {
		coin.Symbol, coin.Name = "coin", "coin"
	}
	if err := words("symbol", coin.Symbol, label.MaxName); err != nil {
		return err
	}
	if c[4] != "" {
		if coin.Decimals, err = strconv.Atoi(c[4]); err != nil || coin.Decimals < 0 || coin.Decimals > label.MaxDecimals {
			return fmt.Errorf("%q is no number of decimals from 0 to %d", api.OneLine(c[4], 40), label.MaxDecimals)
		}
	}
	if x.Chain, err = chain.Declare(id, c[1], coin, c[5]); err != nil {
		return err
	}
	if err := r.once(line, fmt.Sprintf("chain %d", id)); err != nil {
		return err
	}
	if err := r.once(line, "chain "+x.Slug); err != nil {
		return err
	}
	r.chains = append(r.chains, x)
	return nil
}

// maxStory bounds the texts of an incident, in characters.
const maxStory = 300

// incident reads: chain, transaction, date, name, cause, loss.
func (r *reader) incident(line int, c []string) error {
	id, err := r.one(c[0])
	if err != nil {
		return err
	}
	var tx common.Hash
	if err := tx.UnmarshalText([]byte(c[1])); err != nil {
		return fmt.Errorf("%q is no hash of a transaction", api.OneLine(c[1], 80))
	}
	if _, err := time.Parse(time.DateOnly, c[2]); err != nil && c[2] != "" {
		return fmt.Errorf("%q is no date such as 2026-01-31", api.OneLine(c[2], 40))
	}
	if err := words("name", c[3], maxStory); err != nil {
		return err
	}
	for i, what := range []string{"cause", "loss"} {
		if text := c[4+i]; text != "" {
			if err := words(what, text, maxStory); err != nil {
				return err
			}
		}
	}
	at := event{id, tx}
	if err := r.once(line, fmt.Sprint("incident ", id, tx)); err != nil {
		return err
	}
	r.incidents[at] = Incident{incident.Incident{ChainID: id, Tx: tx, Date: c[2], Name: c[3], Cause: c[4], Loss: c[5]}, r.source()}
	return nil
}
