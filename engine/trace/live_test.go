package trace

import (
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func TestLive(t *testing.T) {
	a, b, c := common.Address{1}, common.Address{2}, common.Address{3}
	l := NewLive(Limits{})
	input := []byte{1, 2, 3}
	l.Enter(Call, a, b, uint256.NewInt(7), 100, input)
	input[0] = 9 // the caller's buffer is its own
	l.Log(b, nil, []byte{1})
	l.Enter(Call, b, c, nil, 90, nil)
	l.Enter(StaticCall, c, a, nil, 80, nil)
	l.Log(a, nil, []byte{2}) // taken back by the caller's failure
	l.Exit([]byte{5}, 10, "", "")
	l.Log(c, nil, []byte{3}) // taken back by its own
	l.Exit(nil, 50, "execution reverted", strings.Repeat("é", 3000))
	l.Enter(Create, b, c, nil, 30, nil)
	l.Exit(nil, 30, "out of gas", "")
	l.Log(b, nil, []byte{4})
	l.Exit(nil, 95, "", "")
	tree, err := l.Tree(SourceReplay)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Total != 4 || tree.Failed != 2 || tree.Source != SourceReplay || tree.Root.Input[0] != 1 || tree.Root.Value.Uint64() != 7 {
		t.Errorf("tree %+v, root %+v", tree, tree.Root)
	}
	var logs []byte
	for _, f := range tree.Frames {
		for _, l := range f.Logs {
			logs = append(logs, l.Data[0], byte(l.Calls))
		}
	}
	if string(logs) != string([]byte{1, 0, 4, 2}) {
		t.Errorf("logs and positions %v", logs)
	}
	failed := tree.Frames[1]
	if n := len(failed.RevertReason); n > maxWords || n < maxWords-4 || tree.Frames[2].Status != Reverted {
		t.Errorf("reason of %d bytes, child %v", n, tree.Frames[2].Status)
	}
	if made := tree.Frames[3]; made.HasTo || made.To != (common.Address{}) {
		t.Errorf("failed creation has address %s", made.To)
	}
}

// Calls that do not balance give an error, also from Tree, and never a panic.
func TestLiveUnbalanced(t *testing.T) {
	f := func(steps func(l *Live)) {
		t.Helper()
		l := NewLive(Limits{MaxDepth: 3})
		steps(l)
		if tree, err := l.Tree(SourceReplay); err == nil {
			t.Errorf("tree %+v", tree)
		}
		l.Log(common.Address{}, nil, nil)
	}
	enter := func(l *Live) { l.Enter(Call, common.Address{}, common.Address{}, nil, 0, nil) }
	exit := func(l *Live) { l.Exit(nil, 0, "", "") }
	f(func(l *Live) {})
	f(exit)
	f(enter)
	f(func(l *Live) { enter(l); exit(l); exit(l) })
	f(func(l *Live) { enter(l); exit(l); enter(l); exit(l) })
	f(func(l *Live) {
		enter(l)
		enter(l)
		enter(l)
		enter(l)
		exit(l)
		exit(l)
		exit(l)
		exit(l)
	})
	l := NewLive(Limits{MaxDepth: 1})
	enter(l)
	if err := l.Enter(Call, common.Address{}, common.Address{}, nil, 0, nil); !errors.Is(err, ErrDepth) {
		t.Errorf("error %v", err)
	}
}
