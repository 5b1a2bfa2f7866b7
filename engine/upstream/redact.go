package upstream

import (
	"net/url"
	"regexp"
	"sort"
	"strings"

	"txlens/engine/api"
)

// secrets are the parts of an endpoint's URL that must not appear in any text.
type secrets []string

// secretsOf returns everything but scheme and host: providers put keys into path, query and
// user info. Very short parts ("v2", "rpc") are no keys, and hiding them would make
// messages unreadable.
func secretsOf(u *url.URL) secrets {
	var s secrets
	add := func(part string, atLeast int) {
		if len(part) < atLeast {
			return
		}
		s = append(s, part)
		if esc := url.QueryEscape(part); esc != part {
			s = append(s, esc)
		}
	}
	for _, seg := range strings.Split(u.Path, "/") {
		add(seg, 8)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			add(v, 4)
		}
	}
	if u.User != nil {
		add(u.User.Username(), 4)
		if pw, ok := u.User.Password(); ok {
			add(pw, 1)
		}
	}
	// Longest first, so that a key which contains another is hidden whole.
	sort.Slice(s, func(i, j int) bool { return len(s[i]) > len(s[j]) })
	return s
}

var urlInText = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`)

// scrub makes text of an external service safe for errors and bundles: one line of at most
// 300 characters, URLs reduced to their host, keys hidden.
func (s secrets) scrub(text string) string {
	if len(text) > 4096 {
		text = text[:4096]
	}
	text = urlInText.ReplaceAllStringFunc(text, func(raw string) string {
		if u, err := url.Parse(raw); err == nil && u.Host != "" {
			return u.Hostname()
		}
		return "URL"
	})
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return api.Clean(text, 300)
}
