package tool

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxInput bounds the JSON of one call. The largest legitimate input is calldata.
const maxInput = 64 << 10

// readInput parses strict JSON: no unknown or duplicate members, all required members
// present, all within the bounds of the schema. Its errors say what to send instead.
func readInput(raw jsontext.Value, form reflect.Type, into any) error {
	if len(raw) > maxInput {
		return fmt.Errorf("it is larger than %d KiB", maxInput>>10)
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		raw = jsontext.Value("{}")
	}
	if err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true)); err != nil {
		return inputError(err)
	}
	return checkForm(form, "", reflect.ValueOf(into).Elem(), raw)
}

// inputError describes an error of the JSON package and names the member.
func inputError(err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return errors.New("it is no JSON object")
	}
	at := api.Clean(string(semantic.JSONPointer), 60)
	switch {
	case semantic.Err == json.ErrUnknownName:
		return fmt.Errorf("there is no member %s", at)
	case semantic.Err != nil:
		return fmt.Errorf("%s: %s", at, api.Clean(semantic.Err.Error(), 120))
	case at == "":
		return errors.New("want a JSON object")
	}
	return fmt.Errorf("%s: not a JSON %s", at, kindName(semantic.GoType))
}

func kindName(t reflect.Type) string {
	if t == nil {
		return "value of that type"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	}
	return "string"
}

// Address is an account in an input.
type Address common.Address

// UnmarshalText reads 0x and 40 hex digits in any case.
func (a *Address) UnmarshalText(text []byte) error {
	raw, err := hexBytes(string(text), len(a))
	if err != nil || len(raw) != len(a) {
		return errors.New("an address is 0x and 40 hex digits")
	}
	copy(a[:], raw)
	return nil
}

// Word is 32 bytes in an input: a slot or a value, with leading zeros left out or
// as a decimal number.
type Word common.Hash

// UnmarshalText reads 0x and at most 64 hex digits, or a decimal number.
func (w *Word) UnmarshalText(text []byte) error {
	var n Amount
	if err := n.UnmarshalText(text); err != nil {
		return errors.New("a word is 0x and at most 64 hex digits, or a decimal number below 2^256")
	}
	n.Int.FillBytes(w[:])
	return nil
}

// Amount is a number of base units in an input: wei, or the token's smallest part.
type Amount struct{ Int big.Int }

// UnmarshalText reads a decimal number, or 0x and hex digits, below 2^256.
func (n *Amount) UnmarshalText(text []byte) error {
	s, base := string(text), 10
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = digits, 16
	}
	_, ok := n.Int.SetString(s, base)
	if !ok || len(text) > 80 || strings.ContainsAny(s, "+-_") || n.Int.BitLen() > 256 {
		return errors.New("an amount is a string: a decimal number of base units, or 0x and hex digits, below 2^256")
	}
	return nil
}

// MarshalText writes the decimal number.
func (n *Amount) MarshalText() ([]byte, error) { return n.Int.MarshalText() }

// Path is the path of a frame, such as 0.2.1.
type Path string

// pathForm does not limit the depth, maxPathDepth does: a counted repetition would compile
// to half a megabyte.
var pathForm = regexp.MustCompile(`^0(\.(0|[1-9][0-9]{0,6}))*$`)

// maxPathDepth is how many calls deep a path may go.
const maxPathDepth = 128

// UnmarshalText reads 0, 0.2, 0.2.1 ...
func (p *Path) UnmarshalText(text []byte) error {
	if len(text) > 2000 || bytes.Count(text, []byte(".")) > maxPathDepth || !pathForm.Match(text) {
		return errors.New("a frame path is 0 for the root, 0.2 for its third call, 0.2.1 for the second call of that one")
	}
	*p = Path(text)
	return nil
}

// Bytes are any bytes in an input.
type Bytes []byte

// maxBytes bounds them; calldata of a real transaction can be larger, but not of one that a model writes.
const maxBytes = 16 << 10

// UnmarshalText reads 0x and an even number of hex digits.
func (b *Bytes) UnmarshalText(text []byte) error {
	raw, err := hexBytes(string(text), maxBytes)
	*b = raw
	return err
}

func hexBytes(s string, most int) ([]byte, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) > 2*most {
		return nil, fmt.Errorf("want 0x and hex digits of at most %d bytes", most)
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return nil, errors.New("want 0x and an even number of hex digits")
	}
	return raw, nil
}
