package mpp

import (
	"errors"
	"strings"

	"txlens/engine/mpp/tempo"
)

// TokenDecimals is how many digits of a TIP-20 stablecoin stand after the point:
// one whole token is a million base units.
const TokenDecimals = 6

var errTokens = errors.New("amount is not a decimal number of whole tokens with at most 6 digits after the point")

// ParseTokens reads an amount as people write it in settings and flags, in whole
// tokens: "32", "0.25". More digits after the point than the token has are refused,
// not rounded. The error is ErrAmountRange of package tempo above 2^96-1.
func ParseTokens(s string) (tempo.Amount, error) {
	whole, fraction, point := strings.Cut(s, ".")
	if point && fraction == "" || whole == "" || len(fraction) > TokenDecimals {
		return tempo.Amount{}, errTokens
	}
	a, err := tempo.ParseAmount(whole + fraction + "000000"[len(fraction):])
	if errors.Is(err, tempo.ErrAmountSyntax) {
		err = errTokens
	}
	return a, err
}

// FormatTokens writes an amount in whole tokens, with two digits after the point or
// as many more as it takes: "0.01", "12.345678".
func FormatTokens(a tempo.Amount) string {
	s := a.String()
	if len(s) <= TokenDecimals {
		s = "0000000"[:TokenDecimals+1-len(s)] + s
	}
	whole, fraction := s[:len(s)-TokenDecimals], s[len(s)-TokenDecimals:]
	return whole + "." + fraction[:2] + strings.TrimRight(fraction[2:], "0")
}
