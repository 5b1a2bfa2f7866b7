package upstream

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonOptions accept invalid UTF-8, which nodes return in revert reasons, and do not check
// for duplicate names, because the check would keep every name of an object in memory. The
// envelope checks its own names.
var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func newDecoder(r io.Reader) *jsontext.Decoder { return jsontext.NewDecoder(r, jsonOptions...) }

// decodeFunc reads exactly one JSON value other than null.
type decodeFunc func(dec *jsontext.Decoder) (any, error)

// answer is one JSON-RPC 2.0 response object without its result.
type answer struct {
	id        string // as written, "" if absent
	version   string
	hasResult bool
	null      bool // the result is null
	fault     *rpcFault
	bare      rpcFault // code and message that stand in the object itself, as some gateways write errors
}

// rpcFault is the error member of a response.
type rpcFault struct {
	code    int64
	message string
	data    []byte // if data is, or contains, a hex string
}

// errProtocol marks JSON answers that are not valid JSON-RPC, or answer another request.
var errProtocol = errors.New("answer breaks the protocol")

func protocolError(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errProtocol}, a...)...)
}

// readAnswer reads one response object. A result other than null is passed to onResult as
// soon as it is read, before the rest of the envelope is known to be valid; the value of
// onResult counts only if check passes.
func readAnswer(dec *jsontext.Decoder, onResult func(*jsontext.Decoder) error) (answer, error) {
	var a answer
	open, err := dec.ReadToken()
	if err != nil {
		return a, err
	}
	if open.Kind() != '{' {
		return a, protocolError("not an object")
	}
	seen := map[string]bool{}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return a, err
		}
		name := tok.String()
		switch name {
		case "jsonrpc", "id", "result", "error", "code", "message":
			if seen[name] {
				return a, protocolError("%s stands twice", name)
			}
			seen[name] = true
			err = a.member(dec, name, onResult)
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return a, err
		}
	}
	_, err = dec.ReadToken()
	return a, err
}

func (a *answer) member(dec *jsontext.Decoder, name string, onResult func(*jsontext.Decoder) error) error {
	switch name {
	case "jsonrpc":
		v, err := readScalar(dec)
		a.version = v
		return err
	case "id":
		v, err := readScalar(dec)
		a.id = v
		return err
	case "code":
		v, err := readScalar(dec)
		a.bare.code, _ = strconv.ParseInt(strings.Trim(v, `"`), 10, 64)
		return err
	case "message":
		v, err := readText(dec)
		a.bare.message = v
		return err
	case "error":
		if dec.PeekKind() == 'n' { // some nodes write "error": null beside a result
			return dec.SkipValue()
		}
		return a.readFault(dec)
	}
	a.hasResult = true
	if dec.PeekKind() == 'n' {
		a.null = true
		return dec.SkipValue()
	}
	depth := dec.StackDepth()
	_, before := dec.StackIndex(depth)
	if err := onResult(dec); err != nil {
		return err
	}
	if dec.StackDepth() != depth {
		return errors.New("decoder stopped inside the result")
	}
	if _, after := dec.StackIndex(depth); after != before+1 {
		return errors.New("decoder did not read the result")
	}
	return nil
}

// readScalar returns the text of a short scalar as written, and skips anything else.
func readScalar(dec *jsontext.Decoder) (string, error) {
	switch dec.PeekKind() {
	case '{', '[':
		return "?", dec.SkipValue()
	}
	v, err := dec.ReadValue()
	if len(v) > 64 {
		return "?", err
	}
	return string(v), err
}

func (a *answer) readFault(dec *jsontext.Decoder) error {
	a.fault = &rpcFault{}
	if dec.PeekKind() != '{' { // "error": "some text"
		text, err := readText(dec)
		a.fault.message = text
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch name := tok.String(); name {
		case "code":
			var v string
			v, err = readScalar(dec)
			a.fault.code, _ = strconv.ParseInt(strings.Trim(v, `"`), 10, 64)
		case "message":
			a.fault.message, err = readText(dec)
		case "data":
			err = a.fault.readData(dec)
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// readData finds revert data in the places where nodes put it: a hex string, the words
// "Reverted 0x...", or an object with such a string as data.
func (f *rpcFault) readData(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		text, err := readText(dec)
		f.takeData(text)
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if tok.String() != "data" {
			err = dec.SkipValue()
		} else {
			var text string
			text, err = readText(dec)
			f.takeData(text)
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func (f *rpcFault) takeData(text string) {
	text = strings.TrimPrefix(text, "Reverted ")
	if raw, ok := strings.CutPrefix(text, "0x"); ok {
		if b, err := hex.DecodeString(raw); err == nil {
			f.data = b
		}
	}
}

// readText reads a string and skips anything else.
func readText(dec *jsontext.Decoder) (string, error) {
	if dec.PeekKind() != '"' {
		return "", dec.SkipValue()
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	return tok.String(), nil
}

// passing returns the error of an answer that is no valid envelope. Gateways write errors
// without version and id, with a foreign id, or without the member error (Infura:
// nautechsystems/nautilus_trader#3227). Only what says something about the endpoint is
// believed of them: a result, a revert or "not found" could be that of another request.
func (a *answer) passing(op string) *rpcFault {
	f := a.fault
	if f == nil && a.bare.message != "" {
		f = &a.bare
	}
	if f == nil || a.hasResult && !a.null {
		return nil
	}
	switch classify(op, f) {
	case KindRateLimited, KindServer, KindTimeout, KindPayment, KindUnsupported:
		return f
	}
	return nil
}

// check compares the envelope with the request. An error may lack an id, as the
// specification requires if the request could not be parsed.
func (a *answer) check(id uint64) error {
	want := strconv.FormatUint(id, 10)
	switch {
	case a.version != `"2.0"`:
		return protocolError(`jsonrpc is not "2.0"`)
	case a.fault != nil && a.hasResult && !a.null:
		return protocolError("result and error together")
	case a.fault != nil && (a.id == "null" || a.id == ""):
		return nil
	case a.id != want:
		return protocolError("it has the id of another request")
	case a.fault == nil && !a.hasResult:
		return protocolError("neither result nor error")
	}
	return nil
}

// atEnd checks that only white space follows.
func atEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return protocolError("something follows the answer")
	default:
		return err
	}
}

// appendRequest writes one JSON-RPC request.
func appendRequest(b []byte, id uint64, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	return append(b, '}')
}

// decodeBytes runs decode over one complete JSON value.
func decodeBytes(raw []byte, decode decodeFunc) (any, error) {
	dec := newDecoder(bytes.NewReader(raw))
	v, err := decode(dec)
	if err != nil {
		return nil, err
	}
	return v, atEnd(dec)
}
