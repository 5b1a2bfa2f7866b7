// Command gen makes the embedded table of package incident from the list as published:
// sorted, each transaction once, its texts cleaned and bounded.
package main

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/incident"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

func main() {
	in := flag.String("in", "engine/incident/incidents.tsv", "list as published")
	out := flag.String("out", "engine/incident/table.tsv", "table to write")
	flag.Parse()
	log.SetFlags(0)
	text, err := os.ReadFile(*in)
	if err != nil {
		log.Fatal(err)
	}
	table, err := Generate(text)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, table, 0o644); err != nil {
		log.Fatal(err)
	}
}

// Generate makes the table of the list.
func Generate(text []byte) ([]byte, error) {
	c := csv.NewReader(bytes.NewReader(text))
	c.Comma, c.Comment, c.FieldsPerRecord, c.LazyQuotes = '\t', '#', 6, true
	records, err := c.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	var list []incident.Incident
	for _, f := range records {
		x, err := parse(f)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, incident.Compare)
	list = slices.CompactFunc(list, func(a, b incident.Incident) bool { return incident.Compare(a, b) == 0 })
	var b bytes.Buffer
	b.WriteString("# Made by gen from incidents.tsv: chain id, transaction, date, name, cause, loss.\n")
	for _, x := range list {
		fmt.Fprintf(&b, "%d\t%s\t%s\t%s\t%s\t%s\n", x.ChainID, x.Tx.Hex(), x.Date, x.Name, x.Cause, x.Loss)
	}
	return b.Bytes(), nil
}

// maxText bounds each text.
const maxText = 80

func parse(f []string) (x incident.Incident, err error) {
	date, hash := f[0], f[3]
	if len(date) != 8 || strings.Trim(date, "0123456789") != "" || len(common.FromHex(hash)) != common.HashLength {
		return x, fmt.Errorf("list: bad date or transaction in %q", f)
	}
	if x.ChainID, err = strconv.ParseUint(f[2], 10, 64); err != nil {
		return x, fmt.Errorf("list: chain id in %q: %w", f, err)
	}
	x.Tx, x.Date = common.HexToHash(hash), date[:4]+"-"+date[4:6]+"-"+date[6:]
	x.Name, x.Cause, x.Loss = clean(f[1]), clean(f[4]), clean(f[5])
	return x, nil
}

// clean drops what is no text, and quotes, which a reader of the table would take for its
// own.
func clean(s string) string {
	s = strings.Trim(label.Clean(strings.NewReplacer(`"`, "", "\t", " ").Replace(s)), " :")
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText])
	}
	return s
}
