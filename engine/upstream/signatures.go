package upstream

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SignatureSet holds texts like transfer(address,uint256) by their hash, the most
// trustworthy first: those of verified contracts, then those not marked as spam. Each text
// hashes to its key. Custom errors are among the functions.
type SignatureSet struct {
	Functions map[[4]byte][]string
	Events    map[common.Hash][]string
}

const (
	maxHashes     = 40  // per request, so that the URL stays below 4 KiB
	maxTexts      = 16  // kept per hash
	maxSignature  = 512 // bytes of one text
	lookupPathV1  = "signature-database/v1/lookup"
	selectorChars = 2 + 2*4
)

// Signatures looks up hashes in the Sourcify signature database. Unknown hashes are absent
// from the set. If some of the requests fail, it returns the others together with the
// error.
func (s *Session) Signatures(ctx context.Context, selectors [][4]byte, topics []common.Hash) (*SignatureSet, error) {
	set := &SignatureSet{Functions: map[[4]byte][]string{}, Events: map[common.Hash][]string{}}
	if s.sourcesOff {
		return set, newError(KindSourcesOff, ErrSourcesOff.Error()).at(ToolFourByte, "", "")
	}
	// Sorted: the requests, and with them the keys of the record, do not depend on
	// the order in which the hashes were met.
	selectors, topics = slices.Clone(selectors), slices.Clone(topics)
	slices.SortFunc(selectors, func(a, b [4]byte) int { return bytes.Compare(a[:], b[:]) })
	slices.SortFunc(topics, common.Hash.Cmp)
	var functions, events []string
	for _, sel := range slices.Compact(selectors) {
		functions = append(functions, "0x"+hex.EncodeToString(sel[:]))
	}
	for _, topic := range slices.Compact(topics) {
		events = append(events, topic.Hex())
	}
	var all error
	for len(functions)+len(events) > 0 {
		n := min(maxHashes, len(functions))
		m := min(maxHashes-n, len(events))
		found, err := get[[]signatureRecord](ctx, s, lookupCall(functions[:n], events[:m]))
		if err != nil {
			all = errors.Join(all, err)
		}
		for _, r := range found {
			set.add(r)
		}
		functions, events = functions[n:], events[m:]
	}
	return set, all
}

func (s *SignatureSet) add(r signatureRecord) {
	raw, err := hex.DecodeString(r.Hash[2:])
	switch {
	case err != nil:
	case len(raw) == 4:
		s.Functions[[4]byte(raw)] = r.Texts
	case len(raw) == common.HashLength:
		s.Events[common.Hash(raw)] = r.Texts
	}
}

// signatureRecord is one known hash as it is stored.
type signatureRecord struct {
	Hash  string   `json:"hash"` // 0x and 8 or 64 digits, lower case
	Texts []string `json:"texts"`
}

func decodeSignatures(dec *jsontext.Decoder) (any, error) {
	var list []signatureRecord
	if err := json.UnmarshalDecode(dec, &list); err != nil {
		return nil, err
	}
	for _, r := range list {
		if len(r.Hash) != selectorChars && len(r.Hash) != 66 {
			return nil, errors.New("a hash has the wrong length")
		}
	}
	return list, nil
}

func lookupCall(functions, events []string) call {
	asked := "functions " + strings.Join(functions, ",") + " events " + strings.Join(events, ",")
	return call{
		tool: ToolFourByte, key: joinKey(ToolFourByte, 0, shorten(asked)), decode: decodeSignatures,
		live: func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
			u := c.fourByte.url.JoinPath(lookupPathV1)
			q := u.Query()
			if len(functions) > 0 {
				q.Set("function", strings.Join(functions, ","))
			}
			if len(events) > 0 {
				q.Set("event", strings.Join(events, ","))
			}
			q.Set("filter", "true")
			// The commas are part of the API's syntax.
			u.RawQuery = strings.ReplaceAll(q.Encode(), "%2C", ",")
			out, err := c.fetch(ctx, c.fourByte, ToolFourByte, "", u, decodeSignatures, keep, func(status int, raw []byte) (any, error) {
				return readSignatures(status, raw, functions, events)
			})
			return out, 1, err
		},
	}
}

// signatureEntry is one text as the database has it.
type signatureEntry struct {
	Name     string `json:"name"`
	Filtered bool   `json:"filtered"`
	Verified bool   `json:"hasVerifiedContract"`
}

// readSignatures extracts the requested hashes from an answer, in which unknown functions
// are null and unknown events an empty list.
func readSignatures(status int, raw []byte, functions, events []string) ([]signatureRecord, error) {
	var a struct {
		OK     bool `json:"ok"`
		Result struct {
			Function map[string][]signatureEntry `json:"function"`
			Event    map[string][]signatureEntry `json:"event"`
		} `json:"result"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if status != http.StatusOK || !a.OK {
		return nil, newError(KindRejected, "lookup refused with HTTP status "+strconv.Itoa(status))
	}
	out := []signatureRecord{}
	for _, part := range []struct {
		asked []string
		known map[string][]signatureEntry
	}{{functions, a.Result.Function}, {events, a.Result.Event}} {
		for _, hash := range part.asked {
			if texts := trusted(hash, part.known[hash]); len(texts) > 0 {
				out = append(out, signatureRecord{hash, texts})
			}
		}
	}
	return out, nil
}

// trusted sorts the texts of a hash by trust and removes those that do not hash to it.
func trusted(hash string, entries []signatureEntry) []string {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b signatureEntry) int { return b.trust() - a.trust() })
	var out []string
	for _, e := range entries {
		if len(e.Name) > maxSignature || len(out) == maxTexts || slices.Contains(out, e.Name) {
			continue
		}
		if strings.HasPrefix(evmsig.Hash(e.Name).Hex(), hash) {
			out = append(out, e.Name)
		}
	}
	return out
}

func (e signatureEntry) trust() int {
	switch {
	case e.Verified:
		return 2
	case !e.Filtered:
		return 1
	}
	return 0
}
