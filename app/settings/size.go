package settings

import (
	"errors"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes, written such as 500MB, 20GB or 1TB. It is negative for 0,
// which means that there is no bound; the zero value means that none was given.
type ByteSize int64

var byteUnits = []struct {
	name  string
	scale int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}}

// String returns what UnmarshalText reads.
func (b ByteSize) String() string {
	switch {
	case b == 0:
		return ""
	case b < 0:
		return "0"
	}
	for _, u := range byteUnits {
		if int64(b)%u.scale == 0 {
			return strconv.FormatInt(int64(b)/u.scale, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *ByteSize) UnmarshalText(text []byte) error {
	number := string(text)
	scale := int64(1)
	for _, unit := range byteUnits {
		if rest, ok := strings.CutSuffix(number, unit.name); ok {
			number, scale = rest, unit.scale
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1e15/scale || n > 0 && scale == 1 {
		return errors.New("write a size such as 500MB, 20GB or 1TB, or 0")
	}
	if *b = ByteSize(n * scale); n == 0 {
		*b = -1
	}
	return nil
}
