package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"txlens/testkit/stubnode"
)

// table is printed as Markdown.
type table struct {
	title  string
	head   []string
	rows   [][]string
	cpu    time.Duration // per transaction, of the first row
	memory int64         // of the first row
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// decoded adds what a program made of a corpus; n is how many transactions it was given.
func (t *table) decoded(name string, c *corpus, r *result, n int) {
	frames, logs := 0, 0
	for _, t := range c.txs {
		if a := r.answers[strings.ToLower(t.hash)]; !t.huge {
			frames, logs = frames+a.Frames, logs+a.Logs
		}
	}
	cpu := r.cpu / time.Duration(n)
	if t.rows == nil {
		t.cpu, t.memory = cpu, r.memory
	}
	allFrames, allLogs := c.totals()
	t.row(name, share(answered(r), len(c.txs)), millis(cpu), times(cpu, t.cpu), megabytes(r.memory),
		fmt.Sprintf("%.1f", float64(r.memory)/float64(t.memory)), share(frames, allFrames), share(logs, allLogs))
}

func (c *corpus) totals() (frames, logs int) {
	for _, t := range c.txs {
		if !t.huge {
			frames, logs = frames+t.frames, logs+t.logs
		}
	}
	return frames, logs
}

// keep adds a table, or joins it with that of an earlier run.
func (l *lab) keep(t *table, title string) {
	t.title = title
	for _, earlier := range l.tables {
		if earlier.title == title {
			earlier.join(t)
			return
		}
	}
	l.tables = append(l.tables, t)
}

// join widens the cells of a table to ranges that hold those of another run.
func (t *table) join(other *table) {
	for i, row := range other.rows {
		for j, cell := range row {
			t.rows[i][j] = widen(t.rows[i][j], cell)
		}
	}
}

var figure = regexp.MustCompile(`^(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?((?: .*)?)$`)

// widen returns a range, such as "1.2 to 1.4 ms", of two cells that begin with a figure.
// Equal cells stay, and other cells stand side by side.
func widen(cell, other string) string {
	a, b := figure.FindStringSubmatch(cell), figure.FindStringSubmatch(other)
	if cell == other {
		return cell
	}
	if a == nil || b == nil || a[3] != b[3] {
		return cell + "; " + other
	}
	low, high := a[1], a[2]
	if high == "" {
		high = low
	}
	switch value := number(b[1]); {
	case value < number(low):
		low = b[1]
	case value > number(high):
		high = b[1]
	}
	if low == high {
		return low + a[3]
	}
	return low + " to " + high + a[3]
}

// number is the value of digits that figure has matched.
func number(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

func (t *table) print() {
	fmt.Printf("\n%s\n\n| %s |\n|%s\n", t.title, strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
	for _, r := range t.rows {
		fmt.Printf("| %s |\n", strings.Join(r, " | "))
	}
	fmt.Println()
}

func share(part, all int) string {
	if all == 0 {
		return noAnswer
	}
	return fmt.Sprintf("%d (%.1f %%)", part, 100*float64(part)/float64(all))
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1e3, 'f', 1, 64) + " ms"
}

func times(d, of time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(of)) }

func megabytes(b int64) string { return fmt.Sprintf("%d MB", b/1e6) }

var hex = regexp.MustCompile(`0x[0-9a-fA-F]{8,}`)

// redact makes texts equal that differ in an address, a hash or a place.
func redact(s string) string {
	if strings.Contains(s, stubnode.ErrNoState.Message) { // with the time and the slot before it
		return stubnode.ErrNoState.Message
	}
	s, _, _ = strings.Cut(s, " at line 1 column")
	return hex.ReplaceAllString(s, "0x…")
}
