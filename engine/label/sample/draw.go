package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"txlens/engine/chain"
	"txlens/engine/protocol"
)

// row is a row of a table: what it is about, and what it says of it.
type row struct{ table, key, says string }

// strata are the tables, with the number of rows that are drawn of each.
var strata = []struct {
	table string
	n     int
	rows  func(root string) ([]row, error)
}{
	{"tokens", 50, harvest("engine/label/gen/tokens_npm.tsv.gz", 2, true)},
	{"packages", 35, harvest("engine/label/gen/labels_npm.tsv.gz", 2, true)},
	{"public", 50, harvest("engine/label/gen/labels_public.tsv.gz", 2, true)},
	{"protocols", 35, contracts},
	{"signatures", 20, harvest("engine/decode/gen/abi_signatures.tsv.gz", 2, false)},
	{"chains", 10, chains},
}

func tables() (list []string) {
	for _, s := range strata {
		list = append(list, s.table)
	}
	return list
}

// draw draws rows without putting them back. The same seed draws the same rows of the same
// tables.
func draw(root string, seed uint64) (list []row, err error) {
	for i, s := range strata {
		rows, err := s.rows(root)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for _, at := range r.Perm(len(rows))[:min(s.n, len(rows))] {
			rows[at].table = s.table
			list = append(list, rows[at])
		}
	}
	return list, nil
}

// harvest reads a gzipped TSV whose first columns are the key. Rows of chains that the program
// does not know are not in its tables.
func harvest(path string, key int, byChain bool) func(root string) ([]row, error) {
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
			if len(col) <= key || byChain && !knownChain(col[0]) || !byChain && col[0] == "kind" {
				continue
			}
			list = append(list, row{key: strings.Join(col[:key], " "), says: text(strings.Join(col[key:], " | "))})
		}
		return list, s.Err()
	}
}

func knownChain(id string) bool {
	if id == "*" {
		return true
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return false
	}
	_, ok := chain.ByID(n)
	return ok
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
