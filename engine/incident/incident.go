// Package incident knows transactions of incidents that somebody published. What it says is
// shown beside a result and decides nothing: the analysis is the same without it.
package incident

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

//go:generate go run ./gen -in incidents.tsv -out table.tsv

//go:embed table.tsv
var table []byte

// Source is where the rows were published.
const Source = "DeFiHackLabs"

// Incident is what was published of one transaction. Texts are as published and may be
// empty.
type Incident struct {
	ChainID uint64
	Tx      common.Hash
	Date    string // YYYY-MM-DD
	Name    string
	Cause   string
	Loss    string
}

var rows = sync.OnceValue(func() []Incident {
	list, err := Read(bytes.NewReader(table))
	if err != nil { // embedded by the build: a damaged table is a broken binary
		panic("incident: " + err.Error())
	}
	return list
})

// Lookup finds the incident of a transaction.
func Lookup(chainID uint64, tx common.Hash) (Incident, bool) {
	list := rows()
	i, ok := slices.BinarySearchFunc(list, Incident{ChainID: chainID, Tx: tx}, Compare)
	if !ok {
		return Incident{}, false
	}
	return list[i], true
}

// Compare orders incidents by chain and transaction.
func Compare(a, b Incident) int {
	switch {
	case a.ChainID < b.ChainID:
		return -1
	case a.ChainID > b.ChainID:
		return 1
	}
	return a.Tx.Cmp(b.Tx)
}

// Read reads a table: lines of chain id, transaction, date, name, cause and loss.
func Read(r io.Reader) (out []Incident, err error) {
	c := csv.NewReader(r)
	c.Comma, c.Comment, c.FieldsPerRecord, c.LazyQuotes = '\t', '#', 6, true
	for {
		f, err := c.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, Incident{ChainID: id, Tx: common.HexToHash(f[1]), Date: f[2], Name: f[3], Cause: f[4], Loss: strings.TrimSpace(f[5])})
	}
}
