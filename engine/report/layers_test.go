package report

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
)

type area struct {
	x0, y0, x1, y1 int
	what           string
}

func (a area) meets(b area) bool { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 }

// checkLayout says what is wrong with a drawing: boxes and texts that lie on each
// other or outside, wires that do not go from their box to their box.
func checkLayout(boxes []size, wires []wire, l *layout) string {
	var areas []area
	for i, at := range l.boxes {
		if l.sizes[i].w < boxes[i].w || l.sizes[i].h < boxes[i].h {
			return fmt.Sprintf("box %d shrank to %v", i, l.sizes[i])
		}
		areas = append(areas, area{at.x, at.y, at.x + l.sizes[i].w, at.y + l.sizes[i].h, fmt.Sprint("box ", i)})
	}
	for i, r := range l.routes {
		areas = append(areas, area{r.text.x, r.text.y - wires[i].text.h, r.text.x + wires[i].text.w, r.text.y, fmt.Sprint("text ", i)})
	}
	for i, a := range areas {
		if a.x0 < 0 || a.y0 < 0 || a.x1 > l.w || a.y1 > l.h {
			return fmt.Sprintf("%s %v is outside %d x %d", a.what, a, l.w, l.h)
		}
		for _, b := range areas[:i] {
			if a.meets(b) {
				return fmt.Sprintf("%v on %v", a, b)
			}
		}
	}
	for i, r := range l.routes {
		from, to := wires[i].from, wires[i].to
		if r.back {
			from, to = to, from
		}
		first, last := r.points[0], r.points[len(r.points)-1]
		a, b := l.boxes[from], l.boxes[to]
		if first.x != a.x+l.sizes[from].w || last.x != b.x || first.y <= a.y || first.y >= a.y+l.sizes[from].h || last.y <= b.y || last.y >= b.y+l.sizes[to].h {
			return fmt.Sprintf("wire %d goes from %v to %v", i, first, last)
		}
		for k := 1; k < len(r.points); k++ {
			if r.points[k].x < r.points[k-1].x {
				return fmt.Sprintf("wire %d turns back", i)
			}
		}
	}
	return ""
}

// TestLayoutOfRandomGraphs: whatever is connected with whatever, in any cycles.
func TestLayoutOfRandomGraphs(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	for range 400 {
		n := 2 + rnd.Intn(maxFundBoxes-1)
		boxes := make([]size, n)
		for i := range boxes {
			boxes[i] = size{60 + rnd.Intn(120), fundBoxH}
		}
		var wires []wire
		used := map[[2]int]bool{}
		for range 1 + rnd.Intn(maxFundLanes) {
			a, b := rnd.Intn(n), rnd.Intn(n)
			if a != b && !used[[2]int{a, b}] {
				used[[2]int{a, b}] = true
				wires = append(wires, wire{a, b, size{40 + rnd.Intn(150), fundLine*(1+rnd.Intn(4)) + 4}})
			}
		}
		l := lay(boxes, wires)
		if wrong := checkLayout(boxes, wires, l); wrong != "" {
			t.Fatalf("%v\n%v: %s", boxes, wires, wrong)
		}
		if again := lay(boxes, wires); !reflect.DeepEqual(l, again) {
			t.Fatalf("%v: two layouts differ", wires)
		}
	}
}

func TestLayoutRanks(t *testing.T) {
	f := func(n int, pairs [][2]int, want string) {
		t.Helper()
		var wires []wire
		for _, p := range pairs {
			wires = append(wires, wire{from: p[0], to: p[1]})
		}
		back := backwards(n, wires)
		if got := fmt.Sprint(ranksOf(n, wires, back), back); got != want {
			t.Errorf("%v: %s, want %s", pairs, got, want)
		}
	}
	f(2, [][2]int{{0, 1}}, "[0 2] [false]")
	f(2, [][2]int{{0, 1}, {1, 0}}, "[0 2] [false true]")
	f(3, [][2]int{{0, 1}, {1, 2}, {2, 0}}, "[0 2 4] [false false true]")
	f(4, [][2]int{{0, 1}, {1, 2}, {3, 2}}, "[0 2 4 2] [false false false]") // who only gives stands near
	f(1, nil, "[0] []")
}

// TestTextIsClippedToItsRoom, also where characters are wide or stacked.
func TestTextIsClippedToItsRoom(t *testing.T) {
	f := func(s string, room int, want string) {
		t.Helper()
		if got := clip(s, fontText, room); got != want || textWidth(got, fontText) > room {
			t.Errorf("%q in %d: %q of %d, want %q", s, room, got, textWidth(got, fontText), want)
		}
	}
	f("sender", 100, "sender")
	f("Uniswap V3: SwapRouter02", 100, "Uniswap V3:…")
	f("漢字トークン漢字", 60, "漢字ト…")
	f("", 10, "")
	f("WWWWWWWWWW", 50, "WWW…")
	f("🦄🦄🦄🦄🦄", 75, "🦄🦄🦄🦄…") // 1.245 times the font size each, in the font that people have
	f("⚡⚡⚡⚡⚡", 75, "⚡⚡⚡⚡…")
}
