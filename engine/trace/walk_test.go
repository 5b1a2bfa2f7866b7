package trace_test

import (
	"strings"
	"testing"

	"txlens/engine/trace"
)

// sketch writes a trace from a short form: a name per frame, its calls in
// parentheses, "!" after a frame that failed, "=xx" its output.
//
//	"a(b(c!=01)=01 d)"
func sketch(t *testing.T, s string) *trace.Tree {
	t.Helper()
	out, rest := sketchFrame(s)
	if strings.TrimSpace(rest) != "" {
		t.Fatalf("sketch %q: left %q", s, rest)
	}
	return parse(t, []byte(out), trace.Limits{})
}

func sketchFrame(s string) (out, rest string) {
	name := int(s[0])
	s = s[1:]
	var calls []string
	if strings.HasPrefix(s, "(") {
		s = s[1:]
		for !strings.HasPrefix(s, ")") {
			var c string
			c, s = sketchFrame(strings.TrimLeft(s, " "))
			calls = append(calls, c)
		}
		s = s[1:]
	}
	out = `{"calls":[` + strings.Join(calls, ",") + `],"to":"` + addr(name) + `","from":"` + addr(1) + `","type":"CALL"`
	if strings.HasPrefix(s, "!") {
		s = s[1:]
		out += `,"error":"execution reverted"`
	}
	if strings.HasPrefix(s, "=") {
		out += `,"output":"0x` + s[1:3] + `"`
		s = s[3:]
	}
	return out + `}`, s
}

func TestStatus(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		tree := sketch(t, s)
		var have []string
		for i, f := range tree.Frames {
			word := string(f.To[19:]) + [...]string{"", " failed", " reverted"}[f.Status]
			if f.RevertedBy != nil {
				word += " by " + string(f.RevertedBy.To[19:])
			}
			if f.Caught() {
				word += " caught"
			}
			if f.Index != i || f.Depth != strings.Count(f.Path(), ".") {
				t.Errorf("%s: index %d, depth %d, path %s", word, f.Index, f.Depth, f.Path())
			}
			have = append(have, word)
		}
		if got := strings.Join(have, ", "); got != want {
			t.Errorf("%s\nhave %s\nwant %s", s, got, want)
		}
	}
	f("a", "a")
	f("a!", "a failed")
	f("a(b c!)", "a, b, c failed caught")
	f("a(b(c(d) e!)! f)", "a, b failed caught, c reverted by b, d reverted by b, e failed, f")
	f("a(b(c) d)!", "a failed, b reverted by a, c reverted by a, d reverted by a")
	f("a(b(c(d)!)! e)!", "a failed, b failed, c failed, d reverted by c, e reverted by a")
	f("a(b(c!))!", "a failed, b reverted by a, c failed caught")
}

func TestRevertOrigin(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		have := ""
		if f := sketch(t, s).RevertOrigin(); f != nil {
			have = string(f.To[19:])
		}
		if have != want {
			t.Errorf("%s: %q, want %q", s, have, want)
		}
	}
	f("a(b!)", "")
	f("a!", "a")
	f("a(b c)!", "a")
	f("a(b c(d!=01)!=01)!=01", "d")
	// A failure that was caught, then calls that succeeded, then the root's own.
	f("a(b! c)!", "a")
	// The data of the first failure travels up though another call came after it.
	f("a(b!=01 c)!=01", "b")
	// Among failures with the same data the last one is meant.
	f("a(b!=01 c!=01)!=01", "c")
	f("a(b!=01 c!=02)!=01", "b")
	// require(ok, "...") answers a failed last call in its own words.
	f("a(b c(d!=02)!=02)!=01", "d")
	// No data at all says nothing about a call that was not the last.
	f("a(b! c(d))!", "a")
	f("a(c(d!)!)!", "d")
}

func TestItemsOrder(t *testing.T) {
	tree := parse(t, []byte(`{"type":"CALL","from":"`+addr(1)+`","to":"`+addr(2)+`","logs":[`+
		log(2, 1, `,"position":"0x0"`)+`,`+log(2, 2, `,"position":"0x1"`)+`,`+log(2, 3, `,"position":1`)+`,`+
		log(2, 4, `,"position":"0x0"`)+`,`+log(2, 5, `,"position":"0xff"`)+`,`+log(2, 6, ``)+`],"calls":[`+call(3, 0, "")+`,`+call(4, 0, "")+`]}`), trace.Limits{})
	for i, l := range tree.Root.Logs[1:] {
		if l.Calls < tree.Root.Logs[i].Calls || l.Calls > 2 {
			t.Errorf("log %d after %d calls", i+1, l.Calls)
		}
	}
	var have strings.Builder
	for it := range tree.Root.Items() {
		switch {
		case it.Child != nil:
			have.WriteByte('c')
		case it.Log != nil:
			have.WriteByte('0' + it.Log.Data[31])
		}
	}
	if want := "1c234c56"; have.String() != want {
		t.Errorf("%s, want %s", have.String(), want)
	}
}
