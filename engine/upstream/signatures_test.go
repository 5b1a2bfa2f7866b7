package upstream

import (
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

var transferTopic = common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")

func TestSignatures(t *testing.T) {
	src, s, m := services(t)
	src.SetFunction("0xa9059cbb",
		stubnode.Signature{Name: "join_tg_invmru_haha_fd06787(address,bool)", Filtered: true},
		stubnode.Signature{Name: "many_msg_babbage(bytes1)"},
		stubnode.Signature{Name: "transfer(address,uint256)", Verified: true},
		stubnode.Signature{Name: "transfer(address,uint256)"},
		stubnode.Signature{Name: "not_the_selector()", Verified: true})
	src.SetEvent(transferTopic.Hex(), stubnode.Signature{Name: "Transfer(address,address,uint256)", Verified: true})
	selectors := [][4]byte{{0xa9, 0x05, 0x9c, 0xbb}, {1, 2, 3, 4}, {0xa9, 0x05, 0x9c, 0xbb}}
	set, err := s.Signatures(background(t), selectors, []common.Hash{transferTopic, {9}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"transfer(address,uint256)", "many_msg_babbage(bytes1)", "join_tg_invmru_haha_fd06787(address,bool)"}
	if got := set.Functions[selectors[0]]; !slices.Equal(got, want) {
		t.Errorf("functions: %v", got)
	}
	if got := set.Events[transferTopic]; !slices.Equal(got, []string{"Transfer(address,address,uint256)"}) {
		t.Errorf("events: %v", got)
	}
	if len(set.Functions) != 1 || len(set.Events) != 1 {
		t.Errorf("unknown hashes are in the set: %v %v", set.Functions, set.Events)
	}
	// The same hashes in another order are the same call.
	slices.Reverse(selectors)
	if _, err := s.Signatures(background(t), selectors, []common.Hash{{9}, transferTopic}); err != nil {
		t.Error(err)
	}
	if n := len(src.Asked()); n != 1 || len(m.ToolCalls()) != 1 {
		t.Errorf("%d requests, %d metered", n, len(m.ToolCalls()))
	}
	if path := src.Asked()[0]; !strings.Contains(path, "function=0x01020304,0xa9059cbb") || !strings.Contains(path, "filter=true") {
		t.Errorf("asked %s", path)
	}
}

func TestSignaturesComeInSmallBatches(t *testing.T) {
	src, s, _ := services(t)
	var selectors [][4]byte
	var topics []common.Hash
	for i := range 50 {
		selectors = append(selectors, [4]byte(binary.BigEndian.AppendUint32(nil, uint32(i+1))))
		topics = append(topics, common.Hash{byte(i + 1)})
	}
	if _, err := s.Signatures(background(t), selectors, topics); err != nil {
		t.Fatal(err)
	}
	if n := len(src.Asked()); n != 3 {
		t.Errorf("%d requests for 100 hashes", n)
	}
	for _, path := range src.Asked() {
		if n := strings.Count(path, "0x"); n > maxHashes {
			t.Errorf("%d hashes in one request", n)
		}
	}
	if set, err := s.Signatures(background(t), nil, nil); err != nil || set == nil {
		t.Errorf("nothing asked: %v, %v", set, err)
	}
}

func TestSignatureFaults(t *testing.T) {
	f := func(fault stubnode.Fault, want Kind) {
		t.Helper()
		src, s, _ := services(t)
		src.SetFault(stubnode.Signatures, fault)
		set, err := s.Signatures(background(t), [][4]byte{{1}}, nil)
		if wantKind(t, err.(interface{ Unwrap() []error }).Unwrap()[0], want); set == nil {
			t.Error("no set")
		}
	}
	f(stubnode.Fault{Status: 500}, KindServer)
	f(stubnode.Fault{Garbage: true}, KindGarbage)
	f(stubnode.Fault{Body: `{"ok":false,"error":"Invalid hash"}`}, KindRejected)
	f(stubnode.Fault{Body: `{"ok":true,"result":{"function":7}}`}, KindGarbage)
	f(stubnode.Fault{Refuse: true}, KindUnreachable)
}

func FuzzSignatures(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":{"function":{"0xa9059cbb":[{"name":"transfer(address,uint256)","filtered":false,"hasVerifiedContract":true}],"0x12345678":null},"event":{"0x1234":[]}}}`))
	f.Add([]byte(`{"ok":false,"error":"Invalid hash"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := readSignatures(http.StatusOK, raw, []string{"0xa9059cbb"}, []string{transferTopic.Hex()})
		if err != nil {
			return
		}
		set := &SignatureSet{Functions: map[[4]byte][]string{}, Events: map[common.Hash][]string{}}
		for _, r := range list {
			set.add(r)
		}
		for sel := range set.Functions {
			if hex.EncodeToString(sel[:]) != "a9059cbb" {
				t.Fatalf("a selector nobody asked for: %x", sel)
			}
		}
		if _, err := storeRecord(list, decodeSignatures, true); err != nil {
			t.Fatal(err)
		}
	})
}
