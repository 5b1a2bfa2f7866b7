package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/ethereum/go-ethereum/core/types"
)

// Reference is a transaction as people write it down.
type Reference struct {
	Hash  string // 0x and 64 lower-case hex digits
	Chain *Chain // that of the explorer; nil where none is named
}

// Limits of a reference, in bytes: of a signed transaction in hex, and of an address of a page.
const (
	maxReference = 256 << 10
	maxAddress   = 2048
)

var errNoHash = errors.New("it holds no transaction hash of 64 hex digits")

// ParseReference reads a transaction hash, with or without 0x, the address of its page in an
// explorer, or a signed transaction in hex, with blanks, quotes or a byte order mark around it. An explorer of
// the table names its chain, and so does a signed transaction.
func ParseReference(text string) (Reference, error) {
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'<>`\ufeff", r) })
	if len(text) > maxReference {
		return Reference{}, fmt.Errorf("it is longer than %d bytes", maxReference)
	}
	if hash, ok := hashIn(text); ok {
		return Reference{Hash: hash}, nil
	}
	if ref, ok := signed(text); ok {
		return ref, nil
	}
	if len(text) > maxAddress {
		return Reference{}, fmt.Errorf("it is longer than %d bytes and no signed transaction", maxAddress)
	}
	if !strings.ContainsAny(text, "/.") {
		return Reference{}, errNoHash
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Reference{}, errNoHash
	}
	for segment := range strings.SplitSeq(u.Path+"/"+u.Fragment, "/") {
		if hash, ok := hashIn(segment); ok {
			return Reference{hash, explored(u)}, nil
		}
	}
	return Reference{}, errNoHash
}

// signed reads a signed transaction in its network encoding (EIP-2718).
func signed(text string) (ref Reference, ok bool) {
	raw, err := hex.DecodeString(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
	var tx types.Transaction
	if err != nil || tx.UnmarshalBinary(raw) != nil {
		return ref, false
	}
	ref.Hash = tx.Hash().Hex()
	if id := tx.ChainId(); id.IsUint64() {
		ref.Chain, _ = ByID(id.Uint64())
	}
	return ref, true
}

// hashIn reads a hash that stands alone.
func hashIn(text string) (string, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != 32 {
		return "", false
	}
	return "0x" + strings.ToLower(digits), true
}

// explored is the chain whose explorer a page belongs to; nil where the table has none, or
// several.
func explored(u *url.URL) *Chain {
	at := site(u) + "/"
	for base := at; ; {
		if c, ok := explorers()[strings.TrimSuffix(base, "/")]; ok {
			return c
		}
		cut := strings.LastIndexByte(strings.TrimSuffix(base, "/"), '/')
		if cut < 0 {
			return nil
		}
		base = base[:cut+1]
	}
}

// site is host and path of an address, without www.
func site(u *url.URL) string {
	return strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.Path, "/")
}

// explorers are the chains by the site of their explorer; nil for a site of several.
var explorers = sync.OnceValue(func() map[string]*Chain {
	out := map[string]*Chain{}
	for _, c := range All() {
		u, err := url.Parse(c.Explorer)
		if err != nil || u.Host == "" {
			continue
		}
		if _, twice := out[site(u)]; twice {
			out[site(u)] = nil
			continue
		}
		out[site(u)] = c
	}
	return out
})
