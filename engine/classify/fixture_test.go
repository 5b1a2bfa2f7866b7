package classify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"txlens/engine/evidence"
	"txlens/engine/fixture"
)

func tName(v *Verdict) string {
	if v.TxType == nil {
		return "null"
	}
	return string(*v.TxType)
}

func printCount(t *testing.T, title string, m map[string]int) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return m[keys[i]] > m[keys[j]] || m[keys[i]] == m[keys[j]] && keys[i] < keys[j] })
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "  %5d %s\n", m[k], k)
	}
	t.Logf("%s\n%s", title, b.String())
}

func TestDump(t *testing.T) {
	want := os.Getenv("DUMP")
	if want == "" {
		t.Skip()
	}
	sel := map[string]string{}
	raw, _ := os.ReadFile(filepath.Join(fixture.Dir(t), "selected.json"))
	var list []struct{ Hash, Category string }
	json.Unmarshal(raw, &list)
	for _, s := range list {
		sel[s.Hash] = s.Category
	}
	counts := map[string]int{}
	conf := map[string]int{}
	blocks := fixture.Blocks(t)
	for i := range blocks {
		blk, err := evidence.ParseBlock(blocks[i].Header)
		if err != nil {
			t.Fatal(err)
		}
		for j := range blocks[i].Txs {
			tx := &blocks[i].Txs[j]
			v := Classify(fromFixture(t, &blocks[i], tx, blk))
			counts[tName(v)+"/"+v.SubType]++
			conf[string(v.Confidence)]++
			if want == "sel" && sel[tx.Hash] != "" || want == "all" || strings.HasPrefix(tx.Hash, want) {
				p := "-"
				if v.Protocol != nil {
					p = *v.Protocol
				}
				fmt.Printf("== %s %s [%s]\n   %s/%s %s %s att=%v\n   %s\n   risks %q\n   reasons %q\n", tx.Hash, sel[tx.Hash], blocks[i].Header[:0], tName(v), v.SubType, p, v.Confidence, v.Attempted, v.Summary, v.Risks, v.Reasons)
				if want != "all" {
					fmt.Printf("   - %s\n", strings.Join(v.Steps, "\n   - "))
					for _, x := range v.Votes {
						fmt.Printf("   vote %+v\n", x)
					}
				}
			}
		}
	}
	printCount(t, "types", counts)
	printCount(t, "confidence", conf)
}

func TestLabelledDump(t *testing.T) {
	want := os.Getenv("LDUMP")
	if want == "" {
		t.Skip()
	}
	good, all := map[string]int{}, map[string]int{}
	conf := map[string]int{}
	for _, id := range fixture.LabelledChains {
		ls := fixture.LabelledOf(t, id)
		for i := range ls {
			l := &ls[i]
			v := Classify(fromLabelled(t, l))
			key := strings.Join(l.Expect.TxTypes, ",")
			if key == "" {
				key = "(any)"
			}
			all[key]++
			hit := key == "(any)"
			for _, x := range l.Expect.TxTypes {
				hit = hit || x == tName(v)
			}
			if hit {
				good[key]++
			} else {
				conf[key+" -> "+tName(v)+"/"+v.SubType]++
			}
			p := "-"
			if v.Protocol != nil {
				p = *v.Protocol
			}
			if want == "miss" && !hit || want == "all" || want == "any" && key == "(any)" || strings.HasPrefix(l.Hash, want) {
				fmt.Printf("== %d %s %v %v\n   %s/%s %s %s\n   %s\n", l.ChainID, l.Hash, l.Expect.TxTypes, l.Expect.Protocols, tName(v), v.SubType, p, v.Confidence, v.Summary)
				for _, x := range v.Votes {
					fmt.Printf("   vote %s %s/%s %v\n", x.Rule, x.TxType, x.SubType, x.Logs)
				}
				if strings.HasPrefix(want, "0x") || want == "miss" {
					fmt.Printf("   - %s\n", strings.Join(v.Steps, "\n   - "))
				}
			}
		}
	}
	printCount(t, "all", all)
	printCount(t, "good", good)
	printCount(t, "confusion", conf)
}
