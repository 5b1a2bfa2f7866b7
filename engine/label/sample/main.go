// Command sample draws rows of the tables by chance, and says how many of them are right by
// sources other than those that the tables are made of:
//
//	go run ./engine/label/sample
//
// checked.tsv has what was found for the rows of the seeds that are named there. Another seed draws
// other rows, and prints those that nobody has checked yet.
package main

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

//go:embed checked.tsv
var checked string

// defaultSeed is that of the last rows that were checked.
const defaultSeed = 32

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "folder of the repository")
	seed := flag.Uint64("seed", defaultSeed, "seed of the draw")
	all := flag.Bool("rows", false, "print every row, not only those that are wrong or not checked")
	flag.Parse()
	rows, err := draw(*root, *seed)
	if err != nil {
		log.Fatal(err)
	}
	verdicts, err := read(checked)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(os.Stdout, *seed, rows, verdicts, *all); err != nil {
		log.Fatal(err)
	}
}

// verdict is what another source says of a row.
type verdict struct{ result, evidence string }

// The results. A row that no other source knows is neither right nor wrong.
const (
	right   = "right"
	wrong   = "wrong"
	alone   = "alone"
	missing = "not checked"
)

// read reads the verdicts by table and row.
func read(text string) (map[string]verdict, error) {
	out := map[string]verdict{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		col := strings.Split(line, "\t")
		if len(col) != 4 || col[2] != right && col[2] != wrong && col[2] != alone {
			return nil, fmt.Errorf("checked.tsv: %q", line)
		}
		out[col[0]+"\t"+col[1]] = verdict{col[2], col[3]}
	}
	return out, nil
}

// write prints the rows that are not right, and the figures of each table.
func write(w io.Writer, seed uint64, rows []row, verdicts map[string]verdict, all bool) error {
	b := bufio.NewWriter(w)
	counts := map[string]map[string]int{"all": {}}
	for _, r := range rows {
		v, ok := verdicts[r.table+"\t"+r.key]
		if !ok {
			v.result = missing
		}
		for _, k := range []string{r.table, "all"} {
			if counts[k] == nil {
				counts[k] = map[string]int{}
			}
			counts[k][v.result]++
		}
		if all || v.result == wrong || v.result == missing {
			fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%s\n", r.table, r.key, r.says, v.result, v.evidence)
		}
	}
	fmt.Fprintf(b, "%d rows, seed %d\n", len(rows), seed)
	for _, t := range append(tables(), "all") {
		c := counts[t]
		fmt.Fprintf(b, "%-10s %3d right, %d wrong (%s), %d without another source, %d not checked\n",
			t, c[right], c[wrong], share(c[wrong], c[right]+c[wrong]), c[alone], c[missing])
	}
	return b.Flush()
}

// share is a part of a hundred with one digit.
func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	tenths := (part*1000 + whole/2) / whole
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// text makes a cell of a TSV of a text.
func text(s string) string { return strings.Join(strings.Fields(s), " ") }
