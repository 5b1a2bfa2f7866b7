package mpp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical is the JSON object doc in the form of RFC 8785 (JCS): members sorted
// by UTF-16 code units, numbers as ECMAScript prints them, no blanks. It refuses
// what has no such form: duplicate names, lone surrogates, numbers beyond a double.
func Canonical(doc []byte) ([]byte, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("canonicalize JSON: longer than %d bytes", maxDocument)
	}
	if nesting(doc) > maxDepth {
		return nil, fmt.Errorf("canonicalize JSON: %w", errDepth)
	}
	v := jsontext.Value(bytes.Clone(doc))
	if v.Kind() != '{' {
		return nil, errors.New("canonicalize JSON: not an object")
	}
	if err := checkNumbers(v); err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	return v, nil
}

// checkNumbers refuses numbers too large for a double, which jsontext would
// silently print as the largest one.
func checkNumbers(v []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		t, err := dec.ReadToken()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if t.Kind() == '0' {
			if _, err := strconv.ParseFloat(t.String(), 64); err != nil {
				return errRange
			}
		}
	}
}

// recode is the encoding that the peer's canonical form of the encoded object
// has: the text over which an id is computed.
func recode(encoded string) (string, error) {
	doc, err := decode64(encoded, maxRequest)
	if err != nil {
		return "", err
	}
	if doc, err = Canonical(doc); err != nil {
		return "", err
	}
	return encode64(doc), nil
}

// EncodeOpaque is the opaque parameter that holds m. An empty map is an empty
// object, which is not the same as none.
func EncodeOpaque(m map[string]string) (string, error) {
	if m == nil {
		m = map[string]string{}
	}
	doc, err := json.Marshal(m)
	if err == nil {
		doc, err = Canonical(doc)
	}
	if err != nil {
		return "", fmt.Errorf("encode opaque: %w", err)
	}
	return encode64(doc), nil
}

// DecodeOpaque reads the opaque parameter: a flat object of strings.
func DecodeOpaque(opaque string) (map[string]string, error) {
	doc, err := decode64(opaque, maxRequest)
	if err != nil {
		return nil, fmt.Errorf("read opaque: %w", err)
	}
	return readOpaque(doc)
}

func readOpaque(doc []byte) (map[string]string, error) {
	m := map[string]string{}
	if err := readObject(doc, nil, func(r *reader, name []byte) bool {
		k := string(name)
		m[k] = r.text()
		return true
	}); err != nil {
		return nil, fmt.Errorf("read opaque: %w", err)
	}
	return m, nil
}
