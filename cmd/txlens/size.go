package main

import (
	"errors"
	"strconv"
	"strings"
)

// byteSize is a number of bytes, written such as 500MB, 20GB or 1TB.
type byteSize int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *byteSize) UnmarshalText(text []byte) error {
	number := string(text)
	scale := int64(1)
	for _, unit := range []struct {
		name  string
		scale int64
	}{{"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}} {
		if rest, ok := strings.CutSuffix(number, unit.name); ok {
			number, scale = rest, unit.scale
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1e15/scale || n > 0 && scale == 1 {
		return errors.New("write a size such as 500MB, 20GB or 1TB, or 0")
	}
	*b = byteSize(n * scale)
	return nil
}
