// Package clearsign has descriptions of functions for people, in the format of ERC-7730: what a
// call is for, and which of its arguments matter. A file of the folder descriptors describes one
// contract, on one or more chains.
//
// The format is read as far as it describes the calldata of a known contract. A descriptor that
// uses anything else, such as includes or references, is refused with the place of the fault.
//
// Source: https://eips.ethereum.org/EIPS/eip-7730
package clearsign

import (
	"embed"
	"fmt"
	"math/big"
	"path"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// Descriptor describes the functions of one contract.
type Descriptor struct {
	Owner       string // who is behind the contract, in plain words
	Deployments []Deployment
	functions   map[[4]byte]*Function
}

// Deployment is one place of a contract.
type Deployment struct {
	ChainID uint64
	Address common.Address
}

// Function describes one function.
type Function struct {
	Owner  string
	Intent string // what it is for, as "Request a withdrawal"
	fields []field
	inputs abi.Arguments
}

// Format says how a value is shown.
type Format string

// The formats of ERC-7730 that are read.
const (
	Raw         Format = "raw"         // the value as it is
	Native      Format = "amount"      // wei of the chain's coin
	TokenAmount Format = "tokenAmount" // base units of Value.Token
	AddressName Format = "addressName" // an account
	Date        Format = "date"        // Unix seconds
	Duration    Format = "duration"    // seconds
)

// Value is an argument of a call that matters. Exactly one of Number, Address and Text is set.
type Value struct {
	Label   string
	Format  Format
	Token   common.Address // of a TokenAmount
	Number  *big.Int
	Address *common.Address
	Text    string
}

// field is an argument that is shown.
type field struct {
	label     string
	format    Format
	path      []string        // names of arguments; empty: the value of the call
	tokenPath []string        // of a TokenAmount
	token     *common.Address // of a TokenAmount, if it is always the same
	contract  bool            // the token is the contract that is called
}

//go:embed descriptors/*.json
var files embed.FS

// table finds descriptors by their deployments.
var table = sync.OnceValue(func() map[Deployment]*Descriptor {
	entries, err := files.ReadDir("descriptors")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	t := map[Deployment]*Descriptor{}
	for _, e := range entries {
		raw, err := files.ReadFile(path.Join("descriptors", e.Name()))
		var d *Descriptor
		if err == nil {
			d, err = Parse(e.Name(), raw)
		}
		if err != nil {
			panic(err) // a test parses all of them
		}
		for _, at := range d.Deployments {
			t[at] = d
		}
	}
	return t
})

// Find returns what is known of the function that calldata calls at an address.
func Find(chainID uint64, to common.Address, calldata []byte) (*Function, bool) {
	if len(calldata) < 4 {
		return nil, false
	}
	d := table()[Deployment{chainID, to}]
	if d == nil {
		return nil, false
	}
	f, ok := d.functions[[4]byte(calldata)]
	return f, ok
}

// maxCalldata bounds what is decoded.
const maxCalldata = 128 << 10

// maxText bounds a text of a call that is shown, in bytes.
const maxText = 200

// Values decodes the arguments that matter, in the order of the descriptor. An argument that is
// not there is left out; calldata that does not fit gives none.
func (f *Function) Values(to common.Address, calldata []byte, value *big.Int) (list []Value) {
	if len(calldata) < 4 || len(calldata) > maxCalldata {
		return nil
	}
	args, err := f.inputs.UnpackValues(calldata[4:])
	if err != nil {
		return nil
	}
	for i := range f.fields {
		fd := &f.fields[i]
		raw, ok := any(value), value != nil
		if len(fd.path) > 0 {
			raw, ok = f.lookUp(args, fd.path)
		}
		if !ok {
			continue
		}
		v := Value{Label: fd.label, Format: fd.format}
		if !v.set(raw) || !fd.setToken(&v, f, args, to) {
			continue
		}
		list = append(list, v)
	}
	return list
}

// set takes a decoded value. It reports whether the format can show it.
func (v *Value) set(raw any) bool {
	switch x := raw.(type) {
	case *big.Int:
		v.Number = x
	case common.Address:
		v.Address = &x
	case string:
		v.Text = clip(x)
	case bool:
		v.Text = fmt.Sprint(x)
	case uint8, uint16, uint32, uint64, int8, int16, int32, int64:
		v.Number, _ = new(big.Int).SetString(fmt.Sprint(x), 10)
	default:
		return false
	}
	switch v.Format {
	case AddressName:
		return v.Address != nil
	case Raw:
		return true
	}
	return v.Number != nil
}

func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// setToken finds the token of an amount.
func (fd *field) setToken(v *Value, f *Function, args []any, to common.Address) bool {
	switch {
	case fd.format != TokenAmount:
		return true
	case fd.contract:
		v.Token = to
	case fd.token != nil:
		v.Token = *fd.token
	default:
		raw, ok := f.lookUp(args, fd.tokenPath)
		token, is := raw.(common.Address)
		if !ok || !is {
			return false
		}
		v.Token = token
	}
	return true
}
