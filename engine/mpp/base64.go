package mpp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

var errBase64 = errors.New("not base64url")

// urlAlphabet turns the standard alphabet into the URL one.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// encode64 is base64url without padding (RFC 4648, section 5).
func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode64 reads base64 of at most limit characters. Both alphabets and padding
// are accepted, since clients differ; line ends, which the standard library skips,
// are not.
func decode64(s string, limit int) ([]byte, error) {
	if len(s) > limit {
		return nil, fmt.Errorf("%w: longer than %d characters", errBase64, limit)
	}
	for pad := 0; pad < 2 && strings.HasSuffix(s, "="); pad++ {
		s = s[:len(s)-1]
	}
	if strings.IndexByte(s, '\r') >= 0 || strings.IndexByte(s, '\n') >= 0 {
		return nil, fmt.Errorf("%w: line end", errBase64)
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		b, err = base64.RawURLEncoding.DecodeString(urlAlphabet.Replace(s))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: wrong character, or cut short", errBase64)
	}
	return b, nil
}
