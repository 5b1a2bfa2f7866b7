// Command gen makes registry.tsv, the table of signatures that the rules of package
// classify dispatch on. It merges the harvested tables of the data folder (events.tsv:
// read in the protocols' own sources; selectors.tsv) with the hand-kept curated.tsv,
// which wins. Only signature texts are kept: the hashes are computed where the table
// is read, and this command refuses a text whose hash disagrees with the harvest.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
)

// row is one line of registry.tsv.
type row struct {
	kind, act, slug, indexed, party, flags, signature string
}

func main() {
	log.SetFlags(0)
	data := flag.String("data", "../shared/data", "folder with events.tsv and selectors.tsv, from the project's root")
	out := flag.String("out", "engine/classify/registry.tsv", "file to write, from the project's root")
	curated := flag.String("curated", "engine/classify/gen/curated.tsv", "hand-kept rows, from the project's root")
	flag.Parse()
	rows, err := build(*data, *curated)
	if err == nil {
		err = write(*out, rows)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func build(data, curated string) ([]row, error) {
	hand, err := readCurated(curated)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, r := range hand {
		taken[r.kind+r.signature] = true
	}
	events, err := readEvents(filepath.Join(data, "events.tsv"))
	if err != nil {
		return nil, err
	}
	calls, err := readSelectors(filepath.Join(data, "selectors.tsv"))
	if err != nil {
		return nil, err
	}
	rows := hand
	for _, r := range append(events, calls...) {
		if !taken[r.kind+r.signature] {
			rows = append(rows, r)
		}
	}
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		if a.kind != b.kind {
			return a.kind > b.kind // events first
		}
		return a.signature+" "+a.indexed < b.signature+" "+b.indexed
	})
	return rows, nil
}

func lines(path string, f func(n int, cells []string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		if sc.Text() == "" || strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		if err := f(n, strings.Split(sc.Text(), "\t")); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return sc.Err()
}

func readCurated(path string) (rows []row, err error) {
	err = lines(path, func(_ int, c []string) error {
		if len(c) != 7 {
			return fmt.Errorf("%d columns instead of 7", len(c))
		}
		rows = append(rows, row{c[0], c[1], dash(c[2]), dash(c[3]), c[4], c[5], c[6]})
		return nil
	})
	return rows, err
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

func readEvents(path string) (rows []row, err error) {
	err = lines(path, func(n int, c []string) error {
		if n == 1 {
			return nil
		}
		if len(c) < 6 {
			return fmt.Errorf("%d columns", len(c))
		}
		if got := crypto.Keccak256Hash([]byte(c[3])).Hex(); got != c[4] {
			return fmt.Errorf("hash of %s is %s, not %s", c[3], got, c[4])
		}
		act, flags := actOf(c[2])
		indexed := c[5]
		if indexed == "?" {
			indexed = "*"
		}
		for _, i := range strings.Split(indexed, "/") {
			rows = append(rows, row{"event", act, slugOf(c[1]), i, "", flags, c[3]})
		}
		return nil
	})
	return rows, err
}

// actOf turns the harvest's vote into an act of package classify.
func actOf(vote string) (act, flags string) {
	switch {
	case strings.HasPrefix(vote, "flag "):
		return "flag:" + strings.TrimPrefix(vote, "flag "), ""
	case strings.HasPrefix(vote, "risk flag "):
		return "flag:" + strings.TrimPrefix(vote, "risk flag "), ""
	case strings.HasPrefix(vote, "amplifier "):
		return strings.TrimPrefix(vote, "amplifier "), ""
	}
	if inner, ok := parenthesised(vote); ok && strings.HasPrefix(vote, "other") {
		return strings.ReplaceAll(strings.ReplaceAll(inner, "-", "_"), " ", "_"), "own"
	}
	switch strings.Split(vote, " ")[0] {
	case "swap":
		if strings.Contains(vote, "nft") {
			return "nft_sale", "own"
		}
		return "swap", "own"
	case "transfer", "approval", "liquidation", "stake":
		return strings.Split(vote, " ")[0], "own"
	}
	return "note", ""
}

func parenthesised(s string) (string, bool) {
	_, rest, ok := strings.Cut(s, "(")
	return strings.TrimSuffix(rest, ")"), ok
}

// slugs maps the harvest's names onto those that results use; standards have none.
var slugs = map[string]string{
	"erc20/erc721": "", "erc721/erc1155": "", "erc1155": "", "erc6909": "", "weth9": "", "eip3009": "",
	"eip1967": "", "ownable": "", "access-control": "", "pausable": "", "eip2535": "", "oz-v5 initializable": "",
	"erc4337": "", "maker-psm": "maker", "aave-v2/v3": "aave", "blur-v1": "blur", "blur-v2": "blur",
	"pendle-market": "pendle", "rocketpool": "rocket_pool",
}

func slugOf(name string) string {
	if s, ok := slugs[name]; ok {
		return s
	}
	return strings.ReplaceAll(name, "-", "_")
}

func readSelectors(path string) (rows []row, err error) {
	err = lines(path, func(n int, c []string) error {
		if n == 1 {
			return nil
		}
		if len(c) < 2 {
			return fmt.Errorf("%d columns", len(c))
		}
		if got := fmt.Sprintf("0x%x", crypto.Keccak256([]byte(c[1]))[:4]); got != c[0] {
			return fmt.Errorf("selector of %s is %s, not %s", c[1], got, c[0])
		}
		if act, slug, ok := actOfCall(c[1]); ok {
			rows = append(rows, row{"call", act, slug, "", "", "", c[1]})
		}
		return nil
	})
	return rows, err
}

func write(path string, rows []row) error {
	var b strings.Builder
	b.WriteString("# Made by gen from events.tsv, selectors.tsv and gen/curated.tsv; do not edit.\n#kind\tact\tslug\tindexed\tparty\tflags\tsignature\n")
	for _, r := range rows {
		b.WriteString(strings.Join([]string{r.kind, r.act, r.slug, r.indexed, r.party, r.flags, r.signature}, "\t") + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
