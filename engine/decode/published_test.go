package decode

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"txlens/engine/decode/internal/signature"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// TestIndexedArePublished: how many arguments of an event are indexed is what an ABI says that
// somebody published. A text of which a row says so may have further rows, for contracts that
// index others.
func TestIndexedArePublished(t *testing.T) {
	others := map[string]string{
		"Deposited(address,uint256,uint256)": "of the booster; published is that of another contract",
	}
	rows := map[string]map[int]bool{}
	for _, p := range protocol.All() {
		for i := range p.Signatures {
			if s := &p.Signatures[i]; s.Kind == protocol.Event {
				if rows[s.Text] == nil {
					rows[s.Text] = map[int]bool{}
				}
				rows[s.Text][s.Indexed] = true
			}
		}
	}
	held := 0
	for _, text := range slices.Sorted(maps.Keys(rows)) {
		var published []int
		for _, e := range packages.find(tableKey{signature.Event, evmsig.Hash(text)}) {
			if !e.LayoutUnknown {
				published = append(published, e.Indexed)
			}
		}
		if len(published) == 0 || rows[text][-1] {
			continue
		}
		held++
		if !slices.ContainsFunc(published, func(n int) bool { return rows[text][n] }) && others[text] == "" {
			t.Errorf("%s has %v indexed arguments, published with %v", text, slices.Sorted(maps.Keys(rows[text])), published)
		}
	}
	if held < 200 {
		t.Errorf("%d events were held against an ABI", held)
	}
	t.Logf("%d events", held)
}

// TestFlashLoanOfAave: the amount is read where the contract writes it, behind the initiator.
func TestFlashLoanOfAave(t *testing.T) {
	rc := &ethrpc.Receipt{Logs: []ethrpc.Log{{
		Address: token,
		Topics: []common.Hash{evmsig.Hash("FlashLoan(address,address,address,uint256,uint8,uint256,uint16)"),
			common.HexToHash(alice), common.HexToHash("7070000000000000000000000000000000000003"), {}},
		Data: unhex(t, word(bob)+word(200)+word(0)+word(1)),
	}}}
	tree := calling(t, token, "")
	e := New(nil, Sources{}).All(tree, rc).Events[0]
	if e == nil {
		t.Fatal("not decoded")
	}
	got := map[string]any{}
	for _, a := range e.Args {
		got[a.Name] = fmt.Sprint(a.Value)
	}
	if got["amount"] != "200" || got["premium"] != "1" {
		t.Errorf("%v", got)
	}
}

// TestOneLayoutPerTopics: of two declarations of one text with as many indexed arguments, the
// bytes of a log cannot tell which one it follows.
func TestOneLayoutPerTopics(t *testing.T) {
	type key struct {
		text    string
		indexed int
	}
	seen := map[key]string{}
	for _, p := range protocol.All() {
		for i := range p.Signatures {
			s := &p.Signatures[i]
			if s.Kind != protocol.Event || !s.Decoded {
				continue
			}
			parsed, err := signature.Parse(signature.Event, s.Published)
			if err != nil {
				t.Fatal(err)
			}
			mask := ""
			for _, in := range parsed.Inputs {
				mask += fmt.Sprint(in.Indexed, " ")
			}
			k := key{s.Text, parsed.Indexed}
			if first, ok := seen[k]; ok && first != mask {
				t.Errorf("%s: %s has two layouts with %d indexed arguments", p.Slug, s.Text, parsed.Indexed)
			}
			seen[k] = mask
		}
	}
}
