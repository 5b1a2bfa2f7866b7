package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// table is a format of CSV: a line of names, then one line for each row.
type table struct {
	columns []string
	rows    func(r *api.Result, row func(cells ...string))
}

// write writes the table as RFC 4180 has it, but for lines that end in LF alone.
func (t table) write(w io.Writer, r *api.Result) error {
	out := csv.NewWriter(w)
	out.Write(t.columns) // errors stay until Flush
	t.rows(r, func(cells ...string) {
		for i, c := range cells {
			cells[i] = plain(c)
		}
		out.Write(cells)
	})
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// formula are the signs that begin a formula, the full-width ones too, which spreadsheets read
// as the plain ones.
const formula = "=+-@|%＝＋－＠"

// plain marks a cell as text by a single quote where a spreadsheet would evaluate it, and each
// part of a cell that one which splits at semicolons and tabs would. Numbers stay as they are.
func plain(cell string) string {
	if isNumber(cell) {
		return cell
	}
	var b strings.Builder
	begins := true // of a cell, blanks aside
	for i, r := range cell {
		switch {
		case begins && strings.ContainsRune(formula, r):
			b.WriteByte('\'')
			begins = false
		case i == 0 && (r == '\t' || r == '\r'):
			b.WriteByte('\'')
			begins = false
		case strings.ContainsRune(";\t\r\n", r):
			begins = true
		case !unicode.IsSpace(r) && r != '"':
			begins = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isNumber reports whether a cell is a decimal number with or without a minus.
func isNumber(cell string) bool {
	digits := strings.TrimPrefix(cell, "-")
	whole, frac, dotted := strings.Cut(digits, ".")
	return allDigits(whole) && (!dotted || allDigits(frac))
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

var transfers = table{
	[]string{"logIndex", "type", "from", "fromLabel", "to", "toLabel", "token", "symbol", "name", "tokenId", "amount", "rawAmount", "decimals"},
	func(r *api.Result, row func(...string)) {
		labels := labelsOf(r)
		for i := range r.TokenTransfers {
			t := &r.TokenTransfers[i]
			row(strconv.FormatUint(t.LogIndex, 10), t.Type, t.From.String(), labels[t.From], t.To.String(), labels[t.To], t.TokenAddress.String(),
				t.TokenSymbol, t.TokenName, t.TokenID, scaled(t.Total, t.Decimals), t.Total, t.Decimals)
		}
	},
}

var balances = table{
	[]string{"address", "label", "role", "isSender", "token", "symbol", "tokenId", "isNFT", "amount", "rawAmount", "priceUsd", "valueUsd"},
	func(r *api.Result, row func(...string)) {
		for i := range r.BalanceChanges {
			b := &r.BalanceChanges[i]
			for _, t := range b.Tokens {
				id := ""
				if t.TokenID != nil {
					id = *t.TokenID
				}
				row(b.Address.String(), b.Label, b.Role, strconv.FormatBool(b.IsSender), t.TokenAddress.String(), t.TokenSymbol, id,
					strconv.FormatBool(t.IsNFT), t.Balance, t.RawSignedAmount, number(t.PriceUSD), number(t.ValueUSD))
			}
		}
	},
}

var calls = table{
	[]string{
		"index", "path", "depth", "type", "status", "from", "fromLabel", "to", "toLabel", "selector", "function", "signature", "arguments",
		"valueWei", "gasUsed", "inputBytes", "outputBytes", "error", "revertedBy",
	},
	func(r *api.Result, row func(...string)) {
		for i := range r.PrettyTrace {
			n := &r.PrettyTrace[i]
			if n.Type == typeLog {
				continue
			}
			to := ""
			if n.To != nil {
				to = n.To.String()
			}
			row(strconv.Itoa(n.Index), n.Path, strconv.Itoa(n.Depth), n.Type, string(n.Status), n.From.String(), n.FromLabel, to, n.ToLabel,
				n.Selector, n.FunctionName, n.FunctionSignature, arguments(n), n.ValueWei, strconv.FormatUint(n.GasUsed, 10),
				strconv.Itoa(len(n.Input)), strconv.Itoa(len(n.Output)), n.Error, n.RevertedBy)
		}
	},
}

var events = table{
	[]string{"index", "path", "logIndex", "status", "address", "label", "event", "signature", "arguments", "data"},
	func(r *api.Result, row func(...string)) {
		for i := range r.PrettyTrace {
			n := &r.PrettyTrace[i]
			if n.Type != typeLog {
				continue
			}
			signature, at := "", ""
			if n.EventSignature != nil {
				signature = *n.EventSignature
			}
			if n.LogIndex != nil {
				at = strconv.FormatUint(*n.LogIndex, 10)
			}
			name, _, _ := strings.Cut(signature, "(")
			row(strconv.Itoa(n.Index), n.Path, at, string(n.Status), n.From.String(), n.FromLabel, name, signature, arguments(n), n.Input.String())
		}
	},
}

// typeLog is Node.Type of a log.
const typeLog = "LOG"

// labelsOf are the labels of the result by address.
func labelsOf(r *api.Result) map[api.Addr]string {
	labels := make(map[api.Addr]string, len(r.Addresses))
	for i := range r.Addresses {
		labels[r.Addresses[i].Address] = r.Addresses[i].Label
	}
	return labels
}

// arguments are the decoded arguments in JSON; empty where there are none.
func arguments(n *api.Node) string {
	if len(n.DecodedArgs) == 0 {
		return ""
	}
	doc, err := json.Marshal(n.DecodedArgs, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return ""
	}
	return string(doc)
}

// maxRaw is the most digits of an amount, and maxDecimals of its fraction.
const (
	maxRaw      = 120
	maxDecimals = 77
)

// scaled is an amount in whole tokens, with every digit; empty where the decimals are not
// known.
func scaled(raw, decimals string) string {
	scale, err := strconv.ParseUint(decimals, 10, 8)
	if err != nil || scale > maxDecimals || len(raw) > maxRaw {
		return ""
	}
	n, ok := new(big.Int).SetString(raw, 10)
	if !ok {
		return ""
	}
	return api.Decimal{Unscaled: n, Scale: int(scale)}.String()
}

func number(d *api.Decimal) string {
	if d == nil {
		return ""
	}
	return d.String()
}
