package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"
)

// names of the programs in tables; a star marks those that were given Txlens's names.
const (
	nameTxlens     = "Txlens"
	nameLoop       = "3loop"
	nameLoopNames  = "3loop*"
	nameCast       = "cast run"
	nameCastNames  = "cast run*"
	noAnswer       = "–"
	recordedFolder = "blocks"
)

// starts measures a process that does nothing but start.
func starts(ctx context.Context, l *lab) error {
	empty := &corpus{nodes: map[uint64]string{}}
	path, err := l.knowledge(empty, false)
	if err != nil {
		return err
	}
	rows := []struct {
		name string
		make func() (*exec.Cmd, error)
	}{
		{"Txlens (`--version`)", func() (*exec.Cmd, error) { return l.measured(ctx, l.txlens, "--version") }},
		{"3loop (import, no transaction)", func() (*exec.Cmd, error) {
			return l.measured(ctx, l.node, "threeloop.mjs", fmt.Sprintf(`{"nodes":{},"knowledge":%q}`, path))
		}},
		{"cast (`--version`)", func() (*exec.Cmd, error) { return l.measured(ctx, l.cast, "--version") }},
	}
	took := make([][]time.Duration, len(rows))
	used := make([]usage, len(rows))
	for range l.starts { // in turn, so that all see the same machine
		for i, r := range rows {
			cmd, err := r.make()
			if err != nil {
				return err
			}
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("start %s: %w\n%s", r.name, err, out)
			}
			took[i] = append(took[i], time.Since(begin))
			if err := used[i].add(cmd); err != nil {
				return err
			}
		}
	}
	t := newTable("start", "wall, median", "× Txlens", "CPU", "× Txlens", "resident memory")
	wall, cpu := median(took[0]), used[0].cpu
	for i, r := range rows {
		m := median(took[i])
		t.row(r.name, millis(m), times(m, wall), millis(used[i].cpu/time.Duration(l.starts)), times(used[i].cpu, cpu), megabytes(used[i].memory))
	}
	l.keep(t, fmt.Sprintf("Start, %d each", l.starts))
	return nil
}

// blocks runs all on the recorded blocks.
func blocks(ctx context.Context, l *lab) error {
	c, err := recordedBlocks(l.fixtures)
	if err != nil {
		return err
	}
	defer c.close()
	t := newTable("program", "answered", "CPU per transaction", "× Txlens", "peak memory", "× Txlens", "calls named", "logs named")
	if err := l.decoders(ctx, c, t, l.passes); err != nil {
		return err
	}
	r, err := l.castOnBlocks(ctx, c)
	if err != nil {
		return err
	}
	t.decoded(nameCastNames, c, r, r.runs)
	frames, logs := c.totals()
	l.keep(
		t,
		fmt.Sprintf("Recorded blocks: %d transactions, %d calls with a selector, %d logs; one process for all in %d passes, cast one for each",
			len(c.txs), frames, logs, l.passes),
	)
	l.errors(nameCastNames, r)
	return nil
}

// decoders adds the rows of the programs that take many transactions in one process.
func (l *lab) decoders(ctx context.Context, c *corpus, t *table, passes int) error {
	for _, p := range []struct {
		name string
		run  runner
	}{{nameTxlens, txlensAll}, {nameLoop, threeloop(false)}, {nameLoopNames, threeloop(true)}} {
		r, err := p.run(ctx, l, c, c.txs, passes)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		t.decoded(p.name, c, r, passes*len(c.txs))
		l.errors(p.name, r)
	}
	return nil
}

// castOnBlocks re-executes each transaction on the state that was recorded of it.
func (l *lab) castOnBlocks(ctx context.Context, c *corpus) (*result, error) {
	if err := l.cacheForCast(c, true); err != nil {
		return nil, err
	}
	r := &result{answers: map[string]answer{}}
	paths, err := filepath.Glob(filepath.Join(l.fixtures, recordedFolder, "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		b, err := fixture.ReadBlock(p)
		if err != nil {
			return nil, err
		}
		node := stubnode.New([]fixture.Block{b}, stubnode.Options{ChainID: b.ChainID})
		srv := httptest.NewServer(completed{http.Handler(node)})
		for _, t := range b.Txs {
			if err := setState(node, t.StateDiff); err != nil {
				srv.Close()
				return nil, err
			}
			if r.answers[t.Hash], err = castRun(ctx, l, srv.URL, t.Hash, &r.usage); err != nil {
				srv.Close()
				return nil, err
			}
		}
		srv.Close()
	}
	return r, ctx.Err()
}

// state runs all on the transactions that can be re-executed, a process for each.
func state(ctx context.Context, l *lab) error {
	c, err := executable()
	if err != nil {
		return err
	}
	defer c.close()
	t := newTable("program", "answered", "CPU per transaction", "× Txlens", "peak memory", "× Txlens", "calls named", "logs named")
	for _, p := range []struct {
		name string
		run  runner
	}{
		{nameTxlens, txlensAll},
		{nameLoop, threeloop(false)}, {nameLoopNames, threeloop(true)},
		{nameCast, cast(false)}, {nameCastNames, cast(true)},
	} {
		r := &result{answers: map[string]answer{}}
		for i := range c.txs {
			part, err := p.run(ctx, l, c, c.txs[i:i+1], 1)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			for k, a := range part.answers {
				r.answers[k] = a
			}
			r.cpu, r.memory = r.cpu+part.cpu, max(r.memory, part.memory)
		}
		t.decoded(p.name, c, r, len(c.txs))
		l.errors(p.name, r)
	}
	frames, logs := c.totals()
	l.keep(
		t,
		fmt.Sprintf("Transactions with all their state: %d, %d calls with a selector, %d logs; a process for each", len(c.txs), frames, logs),
	)
	return nil
}

func cast(names bool) runner {
	return func(ctx context.Context, l *lab, c *corpus, txs []*one, _ int) (*result, error) {
		if err := l.cacheForCast(c, names); err != nil {
			return nil, err
		}
		r := &result{answers: map[string]answer{}}
		for _, t := range txs {
			a, err := castRun(ctx, l, c.nodes[t.chainID], t.hash, &r.usage)
			if err != nil {
				return nil, err
			}
			r.answers[t.hash] = a
		}
		return r, ctx.Err()
	}
}

// labelled compares types and protocols with what people said.
func labelled(ctx context.Context, l *lab) error {
	c, err := labelledTxs(l.fixtures)
	if err != nil {
		return err
	}
	defer c.close()
	t := newTable("program", "answered", "type right", "type wrong", "no type", "protocol right", "protocol wrong", "no protocol")
	for _, p := range []struct {
		name  string
		run   runner
		means func(string) []string
	}{{nameTxlens, txlensAll, ownType}, {nameLoop, threeloop(false), loopTypes}, {nameLoopNames, threeloop(true), loopTypes}} {
		r, err := p.run(ctx, l, c, c.txs, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		s := judge(c, r, p.means, l.verbose)
		t.row(
			p.name,
			strconv.Itoa(answered(r)),
			share(s.typeRight, s.typed),
			share(s.typeWrong, s.typed),
			share(s.typed-s.typeRight-s.typeWrong, s.typed),
			share(s.protocolRight, s.named),
			share(s.protocolWrong, s.named),
			share(s.named-s.protocolRight-s.protocolWrong, s.named),
		)
		l.errors(p.name, r)
	}
	t.row("cast", noAnswer, "gives none", noAnswer, noAnswer, "gives none", noAnswer, noAnswer)
	l.keep(t, fmt.Sprintf("Labelled transactions: %d", len(c.txs)))
	return nil
}

// errors prints how often a program said what.
func (l *lab) errors(name string, r *result) {
	count := map[string]int{}
	for _, a := range r.answers {
		if a.Error != "" {
			count[redact(a.Error)]++
		}
	}
	var lines []string
	for text, n := range count {
		lines = append(lines, fmt.Sprintf("%s: %d × %s", name, n, text))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
