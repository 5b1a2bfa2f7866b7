package gather

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// kindsOf reads the kinds of errors that package upstream declares.
func kindsOf(t *testing.T) (kinds []upstream.Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../upstream/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Kind") && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				kind, _ := strconv.Unquote(lit.Value)
				kinds = append(kinds, upstream.Kind(kind))
			}
		}
		return true
	})
	return kinds
}

// TestReasonHidesInternals: each kind of error has words of its own, and none of them
// tells a host, a method, or the words of a library.
func TestReasonHidesInternals(t *testing.T) {
	kinds := kindsOf(t)
	if len(kinds) < 20 {
		t.Fatalf("%d kinds", len(kinds))
	}
	for _, kind := range kinds {
		e := &upstream.Error{Op: "eth_secret", Source: "host.example", Chain: "secret-mainnet", Kind: kind, Err: errors.New("dial tcp 10.0.0.1: secret")}
		got := Reason(fmt.Errorf("read receipt: %w", errors.Join(errors.New("secret"), e)))
		if (got == "internal error") != (kind == upstream.KindInternal) || got == "" {
			t.Errorf("%s: %q", kind, got)
		}
		for _, word := range []string{"secret", "eth_", "example", "dial", "10.0", "\n", "receipt:"} {
			if strings.Contains(got, word) {
				t.Errorf("%s tells %q: %q", kind, word, got)
			}
		}
	}
	f := func(err error, want string) {
		t.Helper()
		if got := Reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	f(errors.New("secret"), "internal error")
	f(&ContradictionError{"the receipt is of block 5, the transaction of block 6"}, "the receipt is of block 5, the transaction of block 6")
	f(fmt.Errorf("a: %w", upstream.ErrNoState), "the data provider does not keep the state of that block")
	f(fmt.Errorf("a: %w", api.ErrStopping), "a: the service is stopping")
	f(context.DeadlineExceeded, "the time for it was over")
	f(&api.NotFoundError{Asked: 80}, "all 80 chains that were asked answered, and none knows the hash")
	f(&api.NotFoundError{Asked: 1}, "the chain answered, and does not know the hash")
	f(fmt.Errorf("a: %w", api.ErrPending), "the transaction is in no block yet")
	silent := &api.UnavailableError{Asked: 3, Silent: []string{"a", "b", "c"}, Kinds: []string{"timeout", "server", "timeout"}}
	f(silent, "a, c: the data provider did not answer in time; b: the data provider is not available at the moment; the hash is unknown to the 3 chains that answered")
	f(&api.UnavailableError{Silent: []string{"a", "b"}}, "a, b: did not answer")
}

// TestUnpaid: payment counts wherever it stands among the faults.
func TestUnpaid(t *testing.T) {
	down, unpaid := &upstream.Error{Kind: upstream.KindServer}, &upstream.Error{Kind: upstream.KindPayment}
	f := func(err error, want bool) {
		t.Helper()
		if got := Unpaid(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
		if got := Reason(err) == reasons[upstream.KindPayment]; err != nil && got != want {
			t.Errorf("%v: %s", err, Reason(err))
		}
	}
	f(nil, false)
	f(down, false)
	f(errors.New("x"), false)
	f(unpaid, true)
	f(errors.Join(down, fmt.Errorf("a: %w", unpaid)), true)
	f(fmt.Errorf("a: %w", errors.Join(unpaid, down)), true)
	f(&upstream.Error{Kind: upstream.KindUnpaid}, false) // the caller's payment is another matter
}

// facts is a Ledger whose pieces fail as told.
type facts struct {
	ladder
	tx, receipt, block error
}

func (f *facts) Transaction(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Transaction, error) {
	if f.tx != nil {
		return nil, f.tx
	}
	return f.ladder.Transaction(ctx, ch, hash)
}

func (f *facts) Receipt(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Receipt, error) {
	if f.receipt != nil {
		return nil, f.receipt
	}
	rc, err := f.ladder.Receipt(ctx, ch, hash)
	number := uint64(15_000_000)
	rc.BlockNumber = &number
	return rc, err
}

func (f *facts) Block(ctx context.Context, ch *chain.Chain, number uint64, full bool) (*ethrpc.Block, error) {
	if f.block != nil {
		return nil, f.block
	}
	return f.ladder.Block(ctx, ch, number, full)
}

// TestReadFacts: each piece is had without the others, and only transaction and receipt
// are missed.
func TestReadFacts(t *testing.T) {
	down := &upstream.Error{Kind: upstream.KindServer}
	f := func(w *facts, tx, receipt, block bool, wantErr string) {
		t.Helper()
		got, err := ReadFacts(t.Context(), w, nil, hash)
		if got == nil || (got.Tx != nil) != tx || (got.Receipt != nil) != receipt || (got.Block != nil) != block {
			t.Fatalf("%+v, %v", got, err)
		}
		if (got.NoBlock != nil) != (!block && (tx || receipt)) {
			t.Errorf("no block because of %v", got.NoBlock)
		}
		if wantErr == "" && err != nil || wantErr != "" && (err == nil || !strings.HasPrefix(err.Error(), wantErr)) {
			t.Errorf("%v, want %q", err, wantErr)
		}
	}
	f(&facts{}, true, true, true, "")
	f(&facts{block: down}, true, true, false, "")
	f(&facts{receipt: down}, true, false, true, "read receipt: ")
	f(&facts{tx: down}, false, true, true, "read transaction: ")
	f(&facts{tx: down, block: down}, false, true, false, "read transaction: ")
	f(&facts{tx: down, receipt: down}, false, false, false, "read transaction: ")
	if got, err := ReadFacts(t.Context(), &facts{tx: upstream.ErrNotFound}, nil, hash); got != nil || !errors.Is(err, api.ErrNotFound) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestCreatesByReceipt: a transaction to the zero address created a contract where the receipt names
// it and no other recipient.
func TestCreatesByReceipt(t *testing.T) {
	zero, made := common.Address{}, common.Address{7}
	f := func(want bool, to, rcTo, contract *common.Address) {
		t.Helper()
		if got := createsByReceipt(&ethrpc.Transaction{To: to}, &ethrpc.Receipt{To: rcTo, ContractAddress: contract}); got != want {
			t.Errorf("to %v, receipt to %v, contract %v: %v", to, rcTo, contract, got)
		}
	}
	f(true, &zero, &zero, &made)
	f(true, &zero, nil, &made)
	f(false, &zero, &zero, nil)
	f(false, &zero, &zero, &zero)
	f(false, &zero, &made, &made)
	f(false, &made, nil, &made)
	f(false, nil, nil, &made)
}
