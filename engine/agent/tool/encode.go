package tool

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

var (
	signatureForm = regexp.MustCompile(`^([A-Za-z_$][A-Za-z0-9_$]*)\(([a-z0-9,]*)\)$`)
	numberForm    = regexp.MustCompile(`^(u?int)([0-9]{1,3})$`)
	fixedForm     = regexp.MustCompile(`^bytes([0-9]{1,2})$`)
)

// encodeCall encodes calldata from a signature and its arguments as text. It supports
// elementary types, which nearly all view functions use; for others the caller gives the
// whole calldata.
func encodeCall(signature string, args []string) ([]byte, error) {
	m := signatureForm.FindStringSubmatch(strings.ReplaceAll(signature, " ", ""))
	if m == nil {
		return nil, errors.New(
			"signature: want a name and elementary types without names, such as balanceOf(address); for arrays and tuples give data",
		)
	}
	var types []string
	if m[2] != "" {
		types = strings.Split(m[2], ",")
	}
	if len(types) != len(args) {
		return nil, fmt.Errorf("args: the signature has %d, not %d", len(types), len(args))
	}
	var heads [][]byte
	var tail []byte
	for i, t := range types {
		head, rest, err := encodeArg(&types[i], args[i])
		if err != nil {
			return nil, fmt.Errorf("args/%d: %s: %w", i, t, err)
		}
		if rest != nil {
			head = common.LeftPadBytes(big.NewInt(int64(32*len(types)+len(tail))).Bytes(), 32)
			tail = append(tail, rest...)
		}
		heads = append(heads, head)
	}
	selector := evmsig.Func(m[1] + "(" + strings.Join(types, ",") + ")")
	out := selector[:]
	for _, h := range heads {
		out = append(out, h...)
	}
	return append(out, tail...), nil
}

// encodeArg returns one word, or the tail of a dynamic type. It completes short type names
// such as uint.
func encodeArg(t *string, arg string) (head, tail []byte, err error) {
	switch {
	case *t == "uint" || *t == "int":
		*t += "256"
		return encodeArg(t, arg)
	case *t == "address":
		var a Address
		err = a.UnmarshalText([]byte(arg))
		return common.LeftPadBytes(a[:], 32), nil, err
	case *t == "bool":
		if arg != "true" && arg != "false" {
			return nil, nil, errors.New("want true or false")
		}
		return common.LeftPadBytes(map[string][]byte{"true": {1}}[arg], 32), nil, nil
	case *t == "string":
		return nil, dynamic([]byte(arg)), nil
	case *t == "bytes":
		var b Bytes
		err = b.UnmarshalText([]byte(arg))
		return nil, dynamic(b), err
	case numberForm.MatchString(*t):
		head, err = encodeNumber(numberForm.FindStringSubmatch(*t), arg)
		return head, nil, err
	case fixedForm.MatchString(*t):
		size, _ := strconv.Atoi(fixedForm.FindStringSubmatch(*t)[1])
		raw, err := hexBytes(arg, 32)
		if err == nil && (size < 1 || size > 32 || len(raw) != size) {
			err = fmt.Errorf("want 0x and %d hex digits", 2*size)
		}
		return common.RightPadBytes(raw, 32), nil, err
	}
	return nil, nil, errors.New("not an elementary type: give data instead")
}

func dynamic(b []byte) []byte {
	out := common.LeftPadBytes(big.NewInt(int64(len(b))).Bytes(), 32)
	return append(out, common.RightPadBytes(b, (len(b)+31)/32*32)...)
}

func encodeNumber(form []string, arg string) ([]byte, error) {
	bits, _ := strconv.Atoi(form[2])
	digits, negative := strings.CutPrefix(arg, "-")
	var n Amount
	switch err := n.UnmarshalText([]byte(digits)); {
	case bits < 8 || bits > 256 || bits%8 != 0:
		return nil, errors.New("there is no such type")
	case err != nil:
		return nil, errors.New("want a decimal number, or 0x and hex digits")
	case form[1] == "uint" && (negative || n.Int.BitLen() > bits):
		return nil, errors.New("out of range")
	case form[1] == "int" && !negative && n.Int.BitLen() > bits-1, negative && n.Int.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(bits-1))) > 0:
		return nil, errors.New("out of range")
	}
	v := new(big.Int).Set(&n.Int)
	if negative {
		v.Sub(new(big.Int).Lsh(big.NewInt(1), 256), v)
		v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))) // -0
	}
	return common.LeftPadBytes(v.Bytes(), 32), nil
}
