package explain_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/explain"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

// TestTransaction: a recorded transaction at a node of its own, by hash alone and with its chain.
func TestTransaction(t *testing.T) {
	b := fixture.Blocks(t)[0]
	node := httptest.NewServer(stubnode.New([]fixture.Block{b}, stubnode.Options{ChainID: b.ChainID}))
	defer node.Close()
	x, err := explain.New(explain.Options{Endpoints: map[uint64][]string{b.ChainID: {node.URL}}, OnlyEndpoints: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, chainID := range []uint64{0, b.ChainID} {
		r, err := x.Transaction(t.Context(), chainID, b.Txs[0].Hash)
		if err != nil || r.Partial() || r.Summary == "" || r.TxHash != b.Txs[0].Hash || r.Chain == "" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if _, err := x.Transaction(t.Context(), b.ChainID, "0x"+strings.Repeat("ab", 32)); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an unknown transaction: %v", err)
	}
	var bad *api.BadRequest
	if _, err := x.Transaction(t.Context(), 0, "0x12"); !errors.As(err, &bad) {
		t.Errorf("no hash: %v", err)
	}
	if _, err := explain.Transaction(t.Context(), "0x12"); !errors.As(err, &bad) {
		t.Errorf("no hash: %v", err)
	}
	if _, err := explain.New(explain.Options{Endpoints: map[uint64][]string{1: {"no url"}}}); err == nil {
		t.Error("an endpoint that is no URL was accepted")
	}
}

// TestSmallImport: the library links no server, no store and no command line.
func TestSmallImport(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "txlens/engine/assemble") {
		t.Fatalf("%d packages", len(deps))
	}
	for _, d := range deps {
		for _, not := range []string{"txlens/transport", "txlens/storage", "txlens/app", "txlens/cmd", "github.com/valyala/fasthttp", "go.etcd.io/bbolt", "github.com/jackc/pgx", "github.com/alecthomas/kong"} {
			if d == not || strings.HasPrefix(d, not+"/") {
				t.Errorf("the library links %s", d)
			}
		}
	}
}

// Calldata is named and decoded without a node.
func Example_calldata() {
	data, _ := hex.DecodeString("a9059cbb000000000000000000000000222222222222222222222222222222222222222200000000000000000000000000000000000000000000000000000000017d7840")
	call := decode.Calldata(common.Address{}, data)
	fmt.Println(call.Signature, "from", call.Provenance)
	for _, arg := range call.Args {
		fmt.Println(arg.Type, arg.Value)
	}
	// Output:
	// transfer(address,uint256) from curated
	// address 0x2222222222222222222222222222222222222222
	// uint256 25000000
}
