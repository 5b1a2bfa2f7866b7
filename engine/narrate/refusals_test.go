package narrate_test

import (
	"slices"
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"
)

// TestRefused: a token that answers false is told to have refused, wherever it was called.
func TestRefused(t *testing.T) {
	no, yes := make([]byte, 32), append(make([]byte, 31), 1)
	f := func(input, output []byte, told bool) {
		t.Helper()
		s := scene.New(&scene.Usdc, 0, input)
		s.Root.Output = output
		v := scene.Held(t, "", s.Facts(t))
		if strings.HasSuffix(v.Summary, "; the token refused: it returned false; no tokens moved") != told || strings.Contains(v.Summary, "refused") != told {
			t.Errorf("%x: %s", input[:4], v.Summary)
		}
		s = scene.New(&scene.Router, 0, scene.Input("run()"))
		s.Call(scene.Router, scene.Usdc, 0, input).Output = output
		v = scene.Held(t, "", s.Facts(t))
		if slices.ContainsFunc(v.Steps, func(s string) bool { return strings.HasPrefix(s, "The token refused the call to ") }) != told {
			t.Errorf("%x, inside: %q", input[:4], v.Steps)
		}
		if strings.Contains(v.Summary, "; USDC (0x05dc…05dc) refused a call of ") != told {
			t.Errorf("%x, inside: %s", input[:4], v.Summary)
		}
	}
	f(scene.Input("transfer(address,uint256)", scene.Friend, 5), no, true)
	f(scene.Input("transferFrom(address,address,uint256)", scene.Bot, scene.Friend, 5), no, true)
	f(scene.Input("approve(address,uint256)", scene.Friend, 5), no, true)
	f(scene.Input("decreaseApproval(address,uint256)", scene.Friend, 5), no, true)
	f(scene.Input("transfer(address,uint256)", scene.Friend, 5), yes, false)
	f(scene.Input("transfer(address,uint256)", scene.Friend, 5), nil, false)
	f(scene.Input("balanceOf(address)", scene.Friend), no, false)
	f(scene.Input("transferFrom(address,address,uint256)", scene.Bot, scene.Friend), no, false)
}

// TestRefusedOnce: an event of the token says that it did what it was asked for, and one
// that passes the call on refuses once.
func TestRefusedOnce(t *testing.T) {
	input := scene.Input("transfer(address,uint256)", scene.Friend, 5)
	s := scene.New(&scene.Usdc, 0, input)
	s.Root.Output = make([]byte, 32)
	f := s.Call(scene.Usdc, scene.Bot, 0, input)
	f.Output = make([]byte, 32)
	if got := strings.Count(strings.Join(scene.Held(t, "", s.Facts(t)).Steps, " "), "refused"); got != 1 {
		t.Errorf("refused %d times", got)
	}
	f.Kind = trace.DelegateCall
	s.Transfer(scene.Usdc, scene.User, scene.Friend, 5)
	if v := scene.Held(t, "", s.Facts(t)); strings.Contains(v.Summary+strings.Join(v.Steps, " "), "refused") {
		t.Errorf("%s %q", v.Summary, v.Steps)
	}
}
