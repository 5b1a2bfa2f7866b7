package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// knowledge is what a program that ships no names may be given: for each selector and
// topic of a corpus the items of an ABI, and for each contract with transfers what a
// node would answer about the token.
type knowledge struct {
	Functions map[string][]string `json:"functions"`
	Events    map[string][]string `json:"events"`
	Tokens    map[string]token    `json:"tokens"`

	functionTexts, eventTexts map[string]string // signatures, as cast keeps them
}

type token struct {
	Type         string `json:"type"`
	ContractName string `json:"contractName,omitempty"`
	TokenSymbol  string `json:"tokenSymbol,omitempty"`
	Decimals     uint8  `json:"decimals"`
}

// known collects what Txlens knows of the transactions from its own tables.
func known(c *corpus, names bool) *knowledge {
	k := &knowledge{Functions: map[string][]string{}, Events: map[string][]string{}, Tokens: map[string]token{},
		functionTexts: map[string]string{}, eventTexts: map[string]string{}}
	for _, t := range c.txs {
		k.tokens(t)
		if !names {
			continue
		}
		set := decode.New(t.chain, decode.Sources{}).All(t.tree, t.receipt)
		for _, call := range set.Calls {
			if call != nil && call.HasSelector && call.Signature != "" {
				id := hexutil.Encode(call.Selector[:])
				k.functionTexts[id] = call.Signature
				k.Functions[id] = once(k.Functions[id], item("function", call.Name, call.Signature, call.Args, 0))
			}
		}
		for i, ev := range set.Events {
			if ev != nil && ev.Signature != "" && len(t.receipt.Logs[i].Topics) > 0 {
				id := t.receipt.Logs[i].Topics[0].Hex()
				k.eventTexts[id] = ev.Signature
				k.Events[id] = once(k.Events[id], item("event", ev.Name, ev.Signature, ev.Args, len(t.receipt.Logs[i].Topics)-1))
			}
		}
	}
	return k
}

func once(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// item writes one entry of an ABI. Tuples have no names inside, as in a signature.
// Where the arguments of an event are not known, the first ones count as indexed.
func item(kind, name, signature string, args []api.Arg, indexed int) string {
	types := split(strings.TrimSuffix(signature[strings.Index(signature, "(")+1:], ")"))
	inputs := make([]map[string]any, len(types))
	for i, typ := range types {
		inputs[i] = input(typ, fmt.Sprintf("arg%d", i))
		if kind == "event" {
			inputs[i]["indexed"] = i < indexed
		}
		if i < len(args) {
			if args[i].Name != "" {
				inputs[i]["name"] = args[i].Name
			}
			if kind == "event" {
				inputs[i]["indexed"] = args[i].Indexed
			}
		}
	}
	out := map[string]any{"type": kind, "name": name, "inputs": inputs}
	if kind == "function" {
		out["outputs"], out["stateMutability"] = []any{}, "payable"
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // strings and booleans only
	}
	return string(text)
}

func input(typ, name string) map[string]any {
	if !strings.HasPrefix(typ, "(") {
		return map[string]any{"type": typ, "name": name}
	}
	end := strings.LastIndex(typ, ")")
	var parts []map[string]any
	for i, part := range split(typ[1:end]) {
		parts = append(parts, input(part, fmt.Sprintf("field%d", i)))
	}
	return map[string]any{"type": "tuple" + typ[end+1:], "name": name, "components": parts}
}

// split cuts a list of types at the commas outside of brackets.
func split(list string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			out, from = append(out, list[from:i]), i+1
		}
	}
	if list != "" {
		out = append(out, list[from:])
	}
	return out
}

func topic(signature string) common.Hash { return crypto.Keccak256Hash([]byte(signature)) }

var (
	transferTopic = topic("Transfer(address,address,uint256)")
	depositTopic  = topic("Deposit(address,uint256)")
	withdrawTopic = topic("Withdrawal(address,uint256)")
	singleTopic   = topic("TransferSingle(address,address,address,uint256,uint256)")
	batchTopic    = topic("TransferBatch(address,address,address,uint256[],uint256[])")
)

// tokens notes the standard of each contract that logs a transfer, as a node would tell
// by a call, with the embedded symbol and decimals; unlisted tokens get 18 decimals.
func (k *knowledge) tokens(t *one) {
	for _, l := range t.receipt.Logs {
		if len(l.Topics) == 0 {
			continue
		}
		tok := token{Type: "ERC20", Decimals: 18}
		switch {
		case l.Topics[0] == transferTopic && len(l.Topics) == 4:
			tok.Type = "ERC721"
		case l.Topics[0] == singleTopic, l.Topics[0] == batchTopic:
			tok.Type = "ERC1155"
		case l.Topics[0] == transferTopic, l.Topics[0] == depositTopic, l.Topics[0] == withdrawTopic:
		default:
			continue
		}
		if listed, ok := label.LookupToken(t.chainID, l.Address); ok {
			tok.ContractName, tok.TokenSymbol = listed.Name, listed.Symbol
			if listed.Decimals != nil {
				tok.Decimals = *listed.Decimals
			}
		}
		k.Tokens[fmt.Sprintf("%d:%s", t.chainID, strings.ToLower(l.Address.Hex()))] = tok
	}
}

// knowledge writes the file that threeloop.mjs reads.
func (l *lab) knowledge(c *corpus, names bool) (string, error) {
	raw, err := json.Marshal(known(c, names))
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.dir, fmt.Sprintf("knowledge-%t.json", names))
	return path, os.WriteFile(path, raw, 0o644)
}

// cacheForCast writes the cache of signatures that cast reads before it asks a service;
// without names it is empty.
func (l *lab) cacheForCast(c *corpus, names bool) error {
	path := filepath.Join(l.dir, "home", ".foundry", "cache", "signatures")
	k := known(c, names)
	raw, err := json.Marshal(map[string]any{"functions": k.functionTexts, "events": k.eventTexts, "errors": map[string]string{}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}
