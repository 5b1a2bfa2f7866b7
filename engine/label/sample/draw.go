package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/chain"
	"txlens/engine/label"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// row is a row of a table: what it is about, and what it says of it.
type row struct{ table, key, says string }

// strata are the tables, with the number of rows that are drawn of each.
var strata = []struct {
	table string
	n     int
	rows  func(root string) ([]row, error)
}{
	{"tokens", 150, harvest("engine/label/gen/tokens_npm.tsv.gz", 2, token)},
	{"packages", 105, harvest("engine/label/gen/labels_npm.tsv.gz", 2, named)},
	{"public", 150, harvest("engine/label/gen/labels_public.tsv.gz", 2, named)},
	{"protocols", 105, contracts},
	{"signatures", 60, harvest("engine/decode/gen/abi_signatures.tsv.gz", 2, signature)},
	{"chains", 30, chains},
}

func tables() (list []string) {
	for _, s := range strata {
		list = append(list, s.table)
	}
	return list
}

// draw draws rows without putting them back: those whose hash with the seed is the lowest. So a
// seed draws the same rows while the tables around them grow.
func draw(root string, seed uint64) (list []row, err error) {
	for _, s := range strata {
		rows, err := s.rows(root)
		if err != nil {
			return nil, err
		}
		lot := func(r row) [sha256.Size]byte { return sha256.Sum256(fmt.Append(nil, seed, s.table, r.key)) }
		drawn := map[row][sha256.Size]byte{}
		for _, r := range rows {
			r.table = s.table
			drawn[r] = lot(r)
		}
		order := slices.SortedFunc(maps.Keys(drawn), func(a, b row) int {
			x, y := drawn[a], drawn[b]
			return cmp.Or(bytes.Compare(x[:], y[:]), strings.Compare(a.says, b.says))
		})
		order = slices.CompactFunc(order, func(a, b row) bool { return a.key == b.key })
		list = append(list, order[:min(s.n, len(order))]...)
	}
	return list, nil
}

// harvest reads a gzipped TSV whose first columns are the key. Of a row that the program does not
// take into its tables says is false.
func harvest(path string, key int, says func(col []string) (string, bool)) func(root string) ([]row, error) {
	return func(root string) (list []row, err error) {
		f, err := os.Open(filepath.Join(root, path))
		if err != nil {
			return nil, fmt.Errorf("open rows: %w", err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path, err)
		}
		s := bufio.NewScanner(z)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			col := strings.Split(s.Text(), "\t")
			if len(col) <= key {
				continue
			}
			if t, ok := says(col); ok {
				list = append(list, row{key: strings.Join(col[:key], " "), says: text(t)})
			}
		}
		return list, s.Err()
	}
}

// token is what the program says of a listed token, and the row behind it.
func token(col []string) (string, bool) {
	id, a, ok := place(col)
	if !ok {
		return "", false
	}
	t, ok := label.LookupToken(id, a)
	if !ok {
		return "", false
	}
	decimals := "no decimals"
	if t.Decimals != nil {
		decimals = fmt.Sprint(*t.Decimals)
	}
	return fmt.Sprintf("%s | %s | %s | of: %s", t.Symbol, decimals, t.Name, strings.Join(col[2:], " | ")), true
}

// named is what the program calls an address, and the row behind it.
func named(col []string) (string, bool) {
	id, a, ok := place(col)
	if !ok {
		return "", false
	}
	l, ok := label.Lookup(id, a)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%s | %s | %s | %d | of: %s", l.Name, l.Category, l.Protocol, l.Confidence, strings.Join(col[2:], " | ")), true
}

func signature(col []string) (string, bool) {
	return strings.Join(col[2:], " | "), col[0] != "kind"
}

// place is the chain and address of a row of a chain that the program knows. A row of every chain
// is looked up on the first.
func place(col []string) (id uint64, a common.Address, ok bool) {
	id, err := strconv.ParseUint(col[0], 10, 64)
	if col[0] == "*" {
		id, err = 1, nil
	}
	if _, known := chain.ByID(id); err != nil || !known {
		return 0, a, false
	}
	return id, common.HexToAddress(col[1]), common.IsHexAddress(col[1])
}

func contracts(string) (list []row, err error) {
	for _, p := range protocol.All() {
		for _, c := range p.Contracts {
			list = append(list, row{key: fmt.Sprint(p.Slug, " ", c.Address.Hex()), says: fmt.Sprint(c.Name, " | ", c.Chains)})
		}
	}
	return list, nil
}

func chains(string) (list []row, err error) {
	for _, c := range chain.All() {
		says := fmt.Sprintf("%s | %s | %s | %d | %v", c.Slug, c.Name, c.Native.Symbol, c.Native.Decimals, c.WrappedNative)
		list = append(list, row{key: fmt.Sprint(c.ID), says: says})
	}
	return list, nil
}
