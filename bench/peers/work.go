package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// answer is what a program says of one transaction, counted.
type answer struct {
	Hash     string `json:"hash"`
	Error    string `json:"error"`
	Type     string `json:"type"`     // in the program's own words
	Protocol string `json:"protocol"` // the same
	Frames   int    `json:"frames"`   // calls with a selector that got a signature
	Logs     int    `json:"logs"`     // logs that got a signature
}

// usage is what processes took.
type usage struct {
	cpu    time.Duration // of all
	memory int64         // bytes, of the largest
	runs   int           // processes
}

// add counts what measure reported of a process that has ended.
func (u *usage) add(cmd *exec.Cmd) error {
	report := cmd.ExtraFiles[0]
	defer report.Close()
	var took struct{ CPUNanoseconds, PeakBytes int64 }
	if _, err := report.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read report of %s: %w", cmd.Args[1], err)
	}
	if err := json.NewDecoder(report).Decode(&took); err != nil {
		return fmt.Errorf("read report of %s: %w", cmd.Args[1], err)
	}
	u.runs++
	u.cpu += time.Duration(took.CPUNanoseconds)
	u.memory = max(u.memory, took.PeakBytes)
	return nil
}

// result is what a program says of a corpus, and what that took.
type result struct {
	answers map[string]answer
	usage
}

// feed runs one process that reads a line for each transaction and writes a line of
// output for each.
func feed(cmd *exec.Cmd, txs []*one, passes int, read func(line []byte) (answer, error)) (*result, error) {
	var in strings.Builder
	for range passes {
		for _, t := range txs {
			fmt.Fprintf(&in, "%s %d\n", t.hash, t.chainID)
		}
	}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in.String()), &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &result{answers: map[string]answer{}}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	var bad error
	count := 0
	for lines.Scan() {
		a, err := read(lines.Bytes())
		if bad == nil {
			bad = err
		}
		count++
		r.answers[strings.ToLower(a.Hash)] = a
	}
	bad = errors.Join(bad, lines.Err())
	werr := cmd.Wait()
	if count != passes*len(txs) { // a program that fails on one transaction may exit with 1 after the last
		return nil, fmt.Errorf("%s: %d answers to %d lines: %w\n%s", cmd.Path, count, passes*len(txs), errors.Join(bad, werr), stderr.Bytes())
	}
	if bad != nil {
		return nil, fmt.Errorf("%s: %w", cmd.Path, bad)
	}
	return r, r.add(cmd)
}

// runner makes a program explain transactions of a corpus.
type runner func(ctx context.Context, l *lab, c *corpus, txs []*one, passes int) (*result, error)

// txlensAll asks Txlens for its JSON, by rules alone, with the node and no other service.
func txlensAll(ctx context.Context, l *lab, c *corpus, txs []*one, passes int) (*result, error) {
	args := []string{"explain", "-", "--json", "--quiet", "--parallel=1", "--rpc-only", "--sources=off"}
	for id, url := range c.nodes {
		args = append(args, fmt.Sprintf("--rpc=%d=%s", id, url))
	}
	cmd, err := l.measured(ctx, l.txlens, args...)
	if err != nil {
		return nil, err
	}
	return feed(cmd, txs, passes, readTxlens)
}

func readTxlens(line []byte) (answer, error) {
	var r struct {
		TxHash      string
		TxType      string
		Protocol    string
		Error       json.RawMessage
		PrettyTrace []struct{ Type, Selector, FunctionName, FunctionSignature string }
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{}, err
	}
	a := answer{Hash: r.TxHash, Type: r.TxType, Protocol: r.Protocol}
	if len(r.Error) > 0 {
		a.Error = string(r.Error)
	}
	for _, f := range r.PrettyTrace {
		switch {
		case f.Type == "LOG" && f.FunctionName != "": // eventSignature is the topic where no name is known
			a.Logs++
		case f.Type != "LOG" && f.Selector != "" && f.FunctionSignature != "":
			a.Frames++
		}
	}
	return a, nil
}

// threeloop runs the packages of 3loop with the tokens of the corpus, and with the
// signatures that Txlens knows where names is set.
func threeloop(names bool) runner {
	return func(ctx context.Context, l *lab, c *corpus, txs []*one, passes int) (*result, error) {
		path, err := l.knowledge(c, names)
		if err != nil {
			return nil, err
		}
		nodes := map[string]string{}
		for id, url := range c.nodes {
			nodes[fmt.Sprint(id)] = url
		}
		settings, err := json.Marshal(map[string]any{"nodes": nodes, "knowledge": path})
		if err != nil {
			return nil, err
		}
		cmd, err := l.measured(ctx, l.node, "threeloop.mjs", string(settings))
		if err != nil {
			return nil, err
		}
		return feed(cmd, txs, passes, func(line []byte) (answer, error) {
			var a answer
			return a, json.Unmarshal(line, &a)
		})
	}
}

// castRun re-executes one transaction. It takes no second one.
func castRun(ctx context.Context, l *lab, url, hash string, u *usage) (answer, error) {
	cmd, err := l.measured(ctx, l.cast, "run", "--quick", "--no-proxy", "--no-rpc-rate-limit", "--color=never", "--rpc-url", url, hash)
	if err != nil {
		return answer{}, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, failed := cmd.Output()
	if err := u.add(cmd); err != nil {
		return answer{}, errors.Join(failed, err)
	}
	if failed != nil {
		return answer{Hash: hash, Error: firstLine(stderr.String())}, nil
	}
	return readCast(hash, string(out)), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

var (
	castFrame   = regexp.MustCompile(`\] (?:\S+)::(\w+)(?:\{[^}]*\})?\(`) // [gas] target::name{value: …}(
	castUnknown = regexp.MustCompile(`^[0-9a-f]{8}$`)
	castEvent   = regexp.MustCompile(`emit (\w+)\(`)
)

// readCast counts the named calls and logs of the tree that cast prints.
func readCast(hash, out string) answer {
	a := answer{Hash: hash}
	for line := range strings.Lines(out) {
		if m := castFrame.FindStringSubmatch(line); m != nil && m[1] != "fallback" && m[1] != "receive" && !castUnknown.MatchString(m[1]) &&
			!strings.Contains(line, "PRECOMPILES::") {
			a.Frames++
		}
		if castEvent.MatchString(line) {
			a.Logs++
		}
	}
	return a
}

// median of durations.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
