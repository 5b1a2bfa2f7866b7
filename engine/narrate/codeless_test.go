package narrate_test

import (
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestCodeless: the code of the receiver decides whether data are a message, whatever the
// gas; where it is not known, the gas does.
func TestCodeless(t *testing.T) {
	yes, no := true, false
	f := func(codeless *bool, gas uint64, change func(*scene.Scene), want bool) {
		t.Helper()
		s := scene.New(&scene.Friend, 0, []byte("hello there"))
		s.Rc.GasUsed = gas
		if change != nil {
			change(s)
		}
		in := s.Facts(t)
		in.Codeless = codeless
		if got := scene.Held(t, "", in).Summary; strings.HasPrefix(got, `Sent the message "hello there" to`) != want {
			t.Errorf("%s", got)
		}
	}
	const plain = 21000 + 16*11
	listed := func(s *scene.Scene) { s.Tx.AccessList = make([]ethrpc.AccessTuple, 1) }
	f(nil, plain, nil, true)
	f(nil, plain+1, nil, false)
	f(nil, plain, listed, false)
	f(&yes, plain, nil, true)
	f(&yes, plain+160_000, nil, true) // gas for the first layer
	f(&yes, plain+2400, listed, true)
	f(&yes, 160_000, nil, true) // zkSync
	f(&no, plain, nil, false)   // a fallback that stops at once
	f(&yes, plain, func(s *scene.Scene) { s.Call(scene.Friend, scene.Bot, 0, nil) }, false)
	f(&yes, plain, func(s *scene.Scene) { s.Root.Output = make([]byte, 32) }, false)
	f(&yes, plain, func(s *scene.Scene) { s.Transfer(scene.Usdc, common.Address{}, scene.Bot, 1) }, false)
}
