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

func (t *table) print(title string) {
	fmt.Printf("\n%s\n\n| %s |\n|%s\n", title, strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
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
