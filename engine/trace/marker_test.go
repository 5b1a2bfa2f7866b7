package trace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"txlens/engine/trace"
)

// What is left of a root whose calls go to the addresses given by letters: kept
// letters in order, a loop as <period x turns>, a gap as <frames>.
func TestMarkers(t *testing.T) {
	f := func(calls, want string) {
		t.Helper()
		var parts []string
		for _, c := range calls {
			parts = append(parts, call(int(c), 1, ""))
		}
		tree := parse(t, []byte(call(2, 0, `,"calls":[`+strings.Join(parts, ",")+`]`)), trace.Limits{CompressAbove: 12, MaxKept: 22})
		var have strings.Builder
		for it := range tree.Root.Items() {
			switch m := it.Marker; {
			case it.Child != nil:
				have.WriteByte(it.Child.To[19])
			case m.Elided:
				fmt.Fprintf(&have, "<%d>", m.Removed)
			default:
				fmt.Fprintf(&have, "<%dx%d>", m.Period, m.Repeats)
				moved := 0
				for _, mv := range m.Moves {
					moved += mv.Count
				}
				if m.Removed != m.Period*m.Repeats || moved != m.Removed {
					t.Errorf("%s: %+v", calls, m)
				}
			}
		}
		if have.String() != want {
			t.Errorf("%s: %s, want %s", calls, have.String(), want)
		}
	}
	x := strings.Repeat
	f(x("a", 11), x("a", 11)) // not above the limit
	f(x("a", 12), "a<1x11>")
	f(x("a", 40)+"b", "a<1x39>b")
	f("xy"+x("ab", 20)+"a", "xyab<2x19>a") // a partial turn stays
	f(x("abc", 20)+"ab", "abc<3x19>ab")
	f(x("aaab", 10), "aaab<4x9>") // the run inside the turn is no loop of its own
	f(x("abac", 10)+x("d", 9), "abac<4x9>d<1x8>")
	f(x("abcde", 3), "abcdeabcdeabcde") // no loop within the period, and room enough
	// Four turns are no loop yet; the fifth starts it.
	f("abcdefgh"+x("i", 4), "abcdefghiiii")
	f("abcdefgh"+x("i", 5), "abcdefghi<1x4>")
	f(x("a", 20)+"b"+x("ab", 4), "a<1x19>babababab") // no turn holds a marker of its own level
	// Nothing repeats: what comes after the bound goes.
	f("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstu<5>")
	// A loop goes on collapsing when the bound is reached, its end goes.
	f("abcdefghij"+x("kl", 9)+"kmnopqrstuvw", "abcdefghijkl<2x8>kmnopqrst<3>")
}

// A marker below a failure moves nothing; a failure inside one neither.
func TestMarkersWithoutEffect(t *testing.T) {
	loop := func(more string) string {
		return `,"calls":[` + strings.Repeat(call(4, 1, more)+",", 29) + call(4, 1, more) + `]`
	}
	lim := trace.Limits{CompressAbove: 5}
	f := func(root, want string) {
		t.Helper()
		tree := parse(t, []byte(root), lim)
		m := tree.Markers[0]
		have := fmt.Sprintf("%d removed, %d failed, %d logs, %d moves", m.Removed, m.Failed, m.Logs, len(m.Moves))
		if have != want {
			t.Errorf("%s, want %s", have, want)
		}
	}
	logs := `,"logs":[` + log(4, 1, "") + `]`
	f(call(2, 0, loop(logs)), "29 removed, 0 failed, 29 logs, 1 moves")
	f(call(2, 0, loop(logs)+`,"error":"out of gas"`), "29 removed, 0 failed, 0 logs, 0 moves")
	f(call(2, 0, `,"error":"out of gas","calls":[`+call(3, 0, loop(logs))+`]`), "29 removed, 0 failed, 0 logs, 0 moves")
	f(call(2, 0, loop(logs+`,"error":"out of gas"`)), "29 removed, 29 failed, 0 logs, 0 moves")
}

// Arguments and values make no difference between turns, errors and selectors do.
func TestShapes(t *testing.T) {
	f := func(want string, turn ...string) {
		t.Helper()
		var parts []string
		for i := range 24 {
			c := turn[i%len(turn)]
			parts = append(parts, strings.ReplaceAll(c, "VALUE", fmt.Sprintf("%08x", i+1)))
		}
		tree := parse(t, []byte(call(2, 0, `,"calls":[`+strings.Join(parts, ",")+`]`)), trace.Limits{CompressAbove: 10, MaxKept: 50})
		have := "whole"
		if tree.Compressed() {
			m := tree.Markers[0]
			have = fmt.Sprintf("%dx%d", m.Period, m.Repeats)
		}
		if have != want {
			t.Errorf("%v: %s, want %s", turn, have, want)
		}
	}
	frame := func(kind, input, more string) string {
		return `{"type":"` + kind + `","from":"` + addr(2) + `","to":"` + addr(3) + `","input":"` + input + `","value":"0xVALUE"` + more + `}`
	}
	plain := frame("CALL", "0xa9059cbbVALUE", "")
	f("1x23", plain)
	f("2x11", plain, frame("CALL", "0xa9059cbbVALUE", `,"error":"out of gas"`))
	f("2x11", plain, frame("CALL", "0xa9059cbcVALUE", ""))
	f("2x11", plain, frame("STATICCALL", "0xa9059cbbVALUE", ""))
	f("2x11", plain, frame("CALL", "0xa9059cbbVALUE", `,"logs":[`+log(3, 1, "")+`]`))
	f("2x11", frame("CALL", "0x", `,"logs":[`+log(3, 1, "")+`]`), frame("CALL", "0x", `,"logs":[`+log(4, 1, "")+`]`))
	f("2x11", plain, frame("CALL", "0xa9059cbbVALUE", `,"calls":[`+plain+`]`))
	f("whole", frame("CALL", "0xVALUE", ""))
	// A factory makes another address from other code in each turn.
	f("1x23", `{"type":"CREATE2","from":"`+addr(2)+`","to":"0x00000000000000000000000000000000VALUE","input":"0xVALUE"}`)
}

// Around a gap the frame's own logs keep their place, and alike logs their receipt.
func TestLogsAroundMarkers(t *testing.T) {
	turn := func(to int) string { return call(to, 0, `,"logs":[`+log(9, 1, "")+`]`) }
	loop := strings.Repeat(turn(3)+",", 20)
	f := func(want string, own ...[2]int) { // position and data of the root's logs
		t.Helper()
		var logs []string
		for _, o := range own {
			logs = append(logs, log(2, o[1], fmt.Sprintf(`,"position":"0x%x"`, o[0])))
		}
		in := []byte(call(2, 0, `,"calls":[`+loop+turn(4)+","+loop+turn(5)+`],"logs":[`+strings.Join(logs, ",")+`]`))
		tree := parse(t, in, trace.Limits{CompressAbove: 10})
		tree.JoinLogs(receiptOf(parse(t, in, trace.Limits{})))
		if have := joined(tree.Root); have != " "+want || len(tree.Notes) != 0 {
			t.Errorf("%s\nwant %s, notes %v", have, want, tree.Notes)
		}
	}
	// 42 logs of calls and the root's after so many of the calls.
	f("0 <19> 20 21 <19> 41")
	f("0 1 <19> 2 9 23 24 25 <19> 45 46", [2]int{0, 10}, [2]int{1, 11}, [2]int{7, 12}, [2]int{21, 13}, [2]int{42, 14})
	f("0 <19> 5 20 22 23 <19> 43", [2]int{5, 12}, [2]int{19, 12})
}

// joined lists gaps and the receipt positions of logs in execution order.
func joined(f *trace.Frame) string {
	var out strings.Builder
	for it := range f.Items() {
		switch {
		case it.Child != nil:
			out.WriteString(joined(it.Child))
		case it.Marker != nil:
			fmt.Fprintf(&out, " <%d>", it.Marker.Removed)
		default:
			fmt.Fprintf(&out, " %d", it.Log.Receipt)
		}
	}
	return out.String()
}

// A sum beyond 256 bits is kept in two parts rather than wrong.
func TestMovesOverflow(t *testing.T) {
	huge := `{"type":"CALL","from":"` + addr(2) + `","to":"` + addr(3) + `","value":"0x` + strings.Repeat("f", 64) + `"}`
	tree := parse(t, []byte(call(2, 0, `,"calls":[`+strings.Repeat(huge+",", 9)+huge+`]`)), trace.Limits{CompressAbove: 5})
	m := tree.Markers[0]
	if len(m.Moves) != m.Removed || m.Moves[8].Value.Hex() != "0x"+strings.Repeat("f", 64) {
		t.Errorf("%+v", m)
	}
}

// Payments to ever new accounts are remembered up to what gas can pay for, and the
// same account is one however often it is paid.
func TestMovesAreBounded(t *testing.T) {
	f := func(payees int, want error) {
		t.Helper()
		var b strings.Builder
		for i := range 1<<17 + 100 {
			fmt.Fprintf(&b, `{"type":"CALL","from":"0x%040x","to":"0x%040x","value":"0x1","input":"0x%08x"},`, 1, 2+i%payees, i)
		}
		trimmed := strings.TrimSuffix(b.String(), ",")
		_, err := trace.ParseCallTracerBytes([]byte(call(2, 0, `,"calls":[`+trimmed+`]`)), trace.Limits{CompressAbove: 10, MaxKept: 20})
		if !errors.Is(err, want) {
			t.Errorf("%d payees: %v, want %v", payees, err, want)
		}
	}
	f(50_000, nil)
	f(1<<17+100, trace.ErrMoves)
}
