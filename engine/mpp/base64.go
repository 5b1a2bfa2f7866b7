package mpp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

var errBase64 = errors.New("not base64url")

// sextet says which bytes may stand in base64: 1 those of the URL alphabet, 2
// those which only the standard one has.
var sextet = func() (t [256]byte) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		t[c] = 1
	}
	t['+'], t['/'] = 2, 2
	return t
}()

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
	standard := false
	for i := 0; i < len(s); i++ {
		switch sextet[s[i]] {
		case 0:
			return nil, fmt.Errorf("%w: character %d", errBase64, i)
		case 2:
			standard = true
		}
	}
	if standard {
		s = strings.NewReplacer("+", "-", "/", "_").Replace(s)
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%w: cut short", errBase64)
	}
	return b, nil
}
