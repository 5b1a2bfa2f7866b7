package analysis

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/runtime"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/upstream"
)

// Names of the phases in events, notes and partial results.
const (
	phaseProbe       = "probe"
	phaseTransaction = "transaction"
	phaseTrace       = "trace"
	phaseLabel       = "label"
	phaseSource      = "source"
	phasePrice       = "price"
	phaseAssemble    = "assemble"
)

// Messages from children to the Supervisor. If err is set beside a value, the phase failed
// and the value is what it had until then.
type (
	probed struct {
		runtime.MayBeLate
		found *upstream.ProbeResult
		err   error
	}
	factsRead struct {
		runtime.MayBeLate
		facts *gather.Facts
		err   error
	}
	traced struct {
		runtime.MayBeLate
		traced *gather.TraceResult
		err    error
	}
	labelled struct {
		runtime.MayBeLate
		tokens     map[common.Address]label.Token
		neighbours *ethrpc.Neighbours
		codeless   *bool // see gather.Codeless
		err        error
		aroundErr  error // why the neighbouring transactions are missing
	}
	sourced struct {
		runtime.MayBeLate
		sourced *gather.Sourced
		err     error
	}
	priced struct {
		runtime.MayBeLate
		prices map[common.Address]assemble.Price
		err    error
	}
	// failed means that the work of a phase panicked.
	failed struct {
		runtime.MayBeLate
		phase string
		err   error
	}
)

// Each function below is the work of one child, run outside Receive.

func probe(w gather.ChainFinder, chains []*chain.Chain, hash common.Hash) func(context.Context) any {
	return func(ctx context.Context) any {
		found, err := w.Probe(ctx, chains, hash)
		return probed{found: found, err: err}
	}
}

func readFacts(w gather.ChainReader, ch *chain.Chain, hash common.Hash) func(context.Context) any {
	return func(ctx context.Context) any {
		facts, err := gather.ReadFacts(ctx, w, ch, hash)
		return factsRead{facts: facts, err: err}
	}
}

func fetchTrace(w gather.World, ch *chain.Chain, hash common.Hash, o gather.TraceOptions) func(context.Context) any {
	return func(ctx context.Context) any {
		t, err := gather.Trace(ctx, w, ch, hash, o)
		return traced{traced: t, err: err}
	}
}

func labelTokens(
	w gather.World,
	ch *chain.Chain,
	tx *ethrpc.Transaction,
	rc *ethrpc.Receipt,
	block *ethrpc.Block,
) func(context.Context) any {
	return func(ctx context.Context) any {
		var out labelled
		out.tokens, out.err = gather.Tokens(ctx, w, ch, tx, rc)
		out.codeless = gather.Codeless(ctx, w, ch, tx, rc)
		out.neighbours, out.aroundErr = gather.Neighbours(ctx, w, ch, tx, rc, block)
		return out
	}
}

func lookUpSources(
	w gather.World,
	ch *chain.Chain,
	tx *ethrpc.Transaction,
	tree *trace.Tree,
	rc *ethrpc.Receipt,
	diff *ethrpc.StateDiff,
) func(context.Context) any {
	return func(ctx context.Context) any {
		s, err := gather.Sources(ctx, w, ch, tx, tree, rc, diff)
		return sourced{sourced: s, err: err}
	}
}

func askPrices(w gather.MetadataSource, ch *chain.Chain, block *ethrpc.Block, rc *ethrpc.Receipt) func(context.Context) any {
	return func(ctx context.Context) any {
		p, err := gather.Prices(ctx, w, ch, block, rc)
		return priced{prices: p, err: err}
	}
}
