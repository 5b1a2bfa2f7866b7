package api

import (
	"regexp"
	"unicode/utf8"
)

const secretName = `(?i)\b((?:api[_-]?|private[_-]?|secret[_-]?)key|authorization|password|mnemonic|secret)("?\s*[:=]\s*)`

var (
	urlInText    = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`)
	keyInText    = regexp.MustCompile(`(?i)\b(sk|pk|key|token)[-_][a-z0-9_*-]{6,}|\bbearer\s+[^\s"]+`)
	quotedSecret = regexp.MustCompile(secretName + `"[^"]*"?`)
	plainSecret  = regexp.MustCompile(secretName + `[^\s",}\]]+`)
)

// HideSecrets replaces what may hold a key or a password: URLs, keys that begin as
// those of providers do, and the values of members with such a name.
func HideSecrets(text string) string {
	text = urlInText.ReplaceAllString(text, "URL")
	text = keyInText.ReplaceAllString(text, "…")
	text = quotedSecret.ReplaceAllString(text, `$1$2"…"`)
	return plainSecret.ReplaceAllString(text, `$1$2…`)
}

// maxArgs bounds the arguments of a call in an event, in bytes.
const maxArgs = 512

// ArgsView is one line of at most 512 bytes of valid UTF-8 that shows the arguments of
// a call without secrets.
func ArgsView(args string) string {
	args = args[:min(len(args), 8*maxArgs)]
	args = OneLine(HideSecrets(args), maxArgs)
	const ellipsis = "…"
	if len(args) <= maxArgs {
		return args
	}
	cut := maxArgs - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(args[cut]) {
		cut--
	}
	return args[:cut] + ellipsis
}
