// Command gen makes registry.tsv, the table of signatures that the rules of package
// classify dispatch on. It merges the harvested tables of the data folder (events.tsv:
// read in the protocols' own sources; selectors.tsv) with the hand-kept curated.tsv,
// which wins, and adds the roles of the arguments from declarations.tsv. Only signature
// texts are kept: the hashes are computed where the table is read, and this command
// refuses a text whose hash disagrees with the harvest, and a harvested row of which
// nothing declares the arguments.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"txlens/engine/evmsig"
)

// row is one line of registry.tsv.
type row struct {
	kind, act, slug, family, indexed, party, flags, signature, roles string
}

// cells are the columns of a row, as package classify reads them.
func (r *row) cells() []string {
	return []string{r.kind, r.act, r.slug, r.family, r.indexed, r.party, r.flags, r.signature, r.roles}
}

func main() {
	log.SetFlags(0)
	data := flag.String("data", "../shared/data", "folder with events.tsv and selectors.tsv, from the project's root")
	out := flag.String("out", "engine/classify/registry.tsv", "file to write, from the project's root")
	hand := flag.String("hand", "engine/classify/gen", "folder with curated.tsv and declarations.tsv, from the project's root")
	flag.Parse()
	rows, err := build(*data, *hand)
	if err == nil {
		err = write(*out, rows)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func build(data, hand string) ([]row, error) {
	rows, err := readCurated(filepath.Join(hand, "curated.tsv"))
	if err != nil {
		return nil, err
	}
	events, err := readEvents(filepath.Join(data, "events.tsv"))
	if err != nil {
		return nil, err
	}
	calls, err := readSelectors(filepath.Join(data, "selectors.tsv"))
	if err != nil {
		return nil, err
	}
	rows = merge(rows, append(events, calls...))
	declared, err := readDeclarations(filepath.Join(hand, "declarations.tsv"))
	if err != nil {
		return nil, err
	}
	if err := declared.fill(rows, append(events, calls...)); err != nil {
		return nil, err
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

// merge adds the harvested rows that no hand-kept row replaces. One that does replaces
// the act and the slug of every layout of its text, and says who is a party in its own;
// a layout that it leaves out stays. The family is always the harvest's.
func merge(hand, harvest []row) []row {
	kept := map[string][]int{}
	for i := range hand {
		r := &hand[i]
		kept[r.kind+r.signature] = append(kept[r.kind+r.signature], i)
	}
	rows := hand
	for _, r := range harvest {
		covered := false
		for _, i := range kept[r.kind+r.signature] {
			h := &hand[i]
			if h.family == "" {
				h.family = r.family
			}
			covered = covered || h.indexed == r.indexed || h.indexed == "*" || r.indexed == "*" || r.kind != "event"
		}
		if covered {
			continue
		}
		if same := kept[r.kind+r.signature]; len(same) > 0 {
			h := &hand[same[0]]
			r.act, r.slug, r.flags = h.act, h.slug, h.flags
		}
		rows = append(rows, r)
	}
	for i := range rows {
		if r := &rows[i]; r.family == "" {
			if r.family = strings.ReplaceAll(r.slug, "_", "-"); r.family == "" {
				r.family = strings.ReplaceAll(r.act, "_", "-")
			}
		}
	}
	return rows
}

// declarations are the parsed lines of declarations.tsv, by kind and signature text.
type declarations map[string][]declaration

func readDeclarations(path string) (declarations, error) {
	list := declarations{}
	err := lines(path, func(_ int, c []string) error {
		if len(c) != 2 {
			return fmt.Errorf("%d columns instead of 2", len(c))
		}
		d, err := parseDeclaration(c[1])
		if err != nil {
			return err
		}
		key := c[0] + d.signature()
		for i := range list[key] {
			if list[key][i].indexed() == d.indexed() {
				return fmt.Errorf("%s is declared twice", d.signature())
			}
		}
		list[key] = append(list[key], d)
		return nil
	})
	return list, err
}

// fill sets the roles of rows. Rows that were harvested must have them.
func (list declarations) fill(rows, harvest []row) error {
	must := map[string]bool{}
	for i := range harvest {
		must[harvest[i].kind+harvest[i].signature] = true
	}
	for i := range rows {
		r := &rows[i]
		key := r.kind + r.signature
		if r.kind != "event" {
			key = "call" + r.signature
		}
		d, plain := list.of(key, r.indexed)
		switch {
		case d != nil:
			r.roles = d.roles(plain)
		case must[r.kind+r.signature] && !strings.HasSuffix(r.signature, "()"):
			return fmt.Errorf("%s with %s indexed arguments is not declared", r.signature, r.indexed)
		}
	}
	return nil
}

// of finds the declaration of a layout. Old contracts emit the same text with nothing
// indexed: then every argument stands in the data, in order.
func (list declarations) of(key, indexed string) (d *declaration, plain bool) {
	for i := range list[key] {
		d := &list[key][i]
		if indexed == strconv.Itoa(d.indexed()) || indexed == "" || indexed == "*" {
			return d, false
		}
	}
	if indexed == "0" && len(list[key]) > 0 {
		return &list[key][0], true
	}
	return nil, false
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
		rows = append(rows, row{kind: c[0], act: c[1], slug: dash(c[2]), indexed: dash(c[3]), party: dash(c[4]), flags: c[5], signature: c[6]})
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
		if got := evmsig.Hash(c[3]).Hex(); got != c[4] {
			return fmt.Errorf("hash of %s is %s, not %s", c[3], got, c[4])
		}
		act, flags := actOf(c[2])
		indexed := c[5]
		if indexed == "?" {
			indexed = "*"
		}
		for _, i := range strings.Split(indexed, "/") {
			rows = append(rows, row{kind: "event", act: act, slug: slugOf(c[1]), family: c[1], indexed: i, flags: flags, signature: c[3]})
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
	if strings.Contains(name, " / ") {
		return "" // several protocols emit the text: a family, and no protocol
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
		if got := fmt.Sprintf("0x%x", evmsig.Func(c[1])); got != c[0] {
			return fmt.Errorf("selector of %s is %s, not %s", c[1], got, c[0])
		}
		rows = append(rows, rowOfCall(c[1]))
		return nil
	})
	return rows, err
}

func write(path string, rows []row) error {
	var b strings.Builder
	b.WriteString("# Made by gen from events.tsv, selectors.tsv, gen/curated.tsv and gen/declarations.tsv; do not edit.\n#kind\tvote\tslug\tfamily\tindexed\tparty\tflags\tsignature\troles\n")
	for i := range rows {
		r := &rows[i]
		b.WriteString(strings.Join(r.cells(), "\t") + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
