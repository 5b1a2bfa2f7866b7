package tool

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

type callInput struct {
	To        Address  `json:"to"        need:"" doc:"the contract"`
	Signature *string  `json:"signature"         doc:"of the function, such as balanceOf(address); elementary types only"         max:"200"`
	Args      []string `json:"args"              doc:"its arguments as strings: decimal numbers, 0x hex, true or false, text"     max:"12"`
	Data      *Bytes   `json:"data"              doc:"the whole calldata instead of signature and args"`
	From      *Address `json:"from"              doc:"caller that the contract sees; nobody when absent"`
	When      *string  `json:"when"              doc:"state at the end of the block before (when absent), or of the block itself"           values:"before|after"`
}

// CallView is the answer of a contract.
type CallView struct {
	Block    uint64       `json:"block"` // the call ran on the state at its end
	Selector api.Hex      `json:"selector,omitempty"`
	Reverted bool         `json:"reverted,omitzero"`
	Words    []AnswerWord `json:"words"` // 32 bytes each
	Bytes    int          `json:"bytes"`
	Text     string       `json:"text,omitempty"` // when the answer is one string
	Note     string       `json:"note,omitempty"`
}

// AnswerWord is one word of return data in several notations.
type AnswerWord struct {
	Hex     api.Hex   `json:"hex"`
	Decimal string    `json:"decimal"`
	Address *api.Addr `json:"address,omitempty"` // set if the word could be an address
}

const maxWords = 40

var callContract = define(
	"call_contract",
	"Calls a contract read-only at the end of the block before or of the block itself: rates, reserves, owners, roles, limits. Not the state in the middle of the transaction.",
	limitRemote,
	func(ctx context.Context, d *Env, in *callInput) (any, error) {
		n, ok := d.block()
		if !ok {
			return unavailable(noBlock)
		}
		data, err := callData(in)
		if err != nil {
			return nil, err
		}
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		v := CallView{Block: n - 1, Selector: data[:min(4, len(data))]}
		if in.When != nil && *in.When == "after" {
			v.Block = n
		}
		var out []byte
		if in.From != nil {
			out, err = w.CallFrom(ctx, d.chain(), addressOf(in.From), common.Address(in.To), data, v.Block)
		} else {
			out, err = w.Call(ctx, d.chain(), common.Address(in.To), data, v.Block)
		}
		var e *upstream.Error
		if errors.Is(err, upstream.ErrReverted) && errors.As(err, &e) {
			v.Reverted, out, err = true, e.Data, nil
		}
		if err != nil {
			return nil, err
		}
		v.answer(out)
		return v, nil
	},
)

func callData(in *callInput) ([]byte, error) {
	switch {
	case in.Data != nil && in.Signature != nil:
		return nil, errors.New("give data or signature, not both")
	case in.Data != nil:
		return *in.Data, nil
	case in.Signature == nil:
		return nil, errors.New("give signature with args, or data")
	}
	return encodeCall(*in.Signature, in.Args)
}

// answer decodes the return data word by word.
func (v *CallView) answer(out []byte) {
	v.Bytes = len(out)
	if len(out) == 0 {
		v.Note = "nothing came back: there is no code at the address, or the function returns nothing"
	}
	body := out
	if v.Reverted && len(out) >= 4 {
		v.Note = "the words are those behind the error's selector 0x" + fmt.Sprintf("%x", out[:4])
		body = out[4:]
	}
	v.Text = oneString(body)
	v.Words = []AnswerWord{}
	for i := 0; i < len(body) && len(v.Words) < maxWords; i += 32 {
		word := common.RightPadBytes(body[i:min(i+32, len(body))], 32)
		a := AnswerWord{Hex: word, Decimal: new(big.Int).SetBytes(word).String()}
		// Small numbers have as many leading zeros; they are no addresses that anybody uses.
		if common.BytesToHash(word[:12]) == (common.Hash{}) && new(big.Int).SetBytes(word).BitLen() > 80 {
			addr := api.AddrOf(common.BytesToAddress(word))
			a.Address = &addr
		}
		v.Words = append(v.Words, a)
	}
}

// oneString decodes return data that is a single string, else it returns "".
func oneString(b []byte) string {
	if at, _ := evmsig.Length(evmsig.Word(b, 0), 32); at != 32 {
		return ""
	}
	text, _ := evmsig.Bytes(b, 0)
	return api.Clean(string(text), maxString)
}
