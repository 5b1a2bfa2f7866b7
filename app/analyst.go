package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/analysis"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/meter"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
	"txlens/transport"
)

// AnalysisOptions say how transactions are analysed. The zero value asks the built-in
// endpoints and has no language model.
type AnalysisOptions struct {
	Upstream upstream.Config // endpoints and services to ask; OnCall is set by a Server
	Deadline time.Duration   // for the evidence of one analysis; default analysis.DefaultDeadline
	// Quick re-executes without the earlier transactions of the block if a node gives no
	// trace.
	Quick bool
	// RecordDir is the folder that gets a bundle of every answer of each analysis.
	// Empty: nothing is recorded.
	RecordDir string
	// RecordContext keeps the context of a request in its bundle.
	RecordContext bool
	// Overlay is what the user knows; nil: nothing. An analysis uses the data that is current when
	// it begins.
	Overlay *overlay.Holder
	// PrivateLabels shows the private labels of Overlay. Results then go to nobody else.
	PrivateLabels bool
	// Agent is the language model; nil: the rules alone. Analyst.Close closes it.
	Agent *analysis.Agent
	Log   *slog.Logger // for faults inside an analysis; nil: silent
}

// Analyst runs analyses. It is safe for concurrent use.
type Analyst struct {
	o         AnalysisOptions
	client    *upstream.Client
	explainer *analysis.Explainer
	metrics   *recorder // nil: nothing is recorded
	// kept has what earlier analyses read; nil: none is kept. It is set before the first analysis.
	kept *job.Keeper
}

var _ transport.Explainer = (*Analyst)(nil)

// NewAnalyst makes an Analyst. It connects nowhere. It owns o.Agent, also where it
// returns an error, which is an *OptionError.
func NewAnalyst(o AnalysisOptions) (*Analyst, error) { return newAnalyst(o, nil) }

func newAnalyst(o AnalysisOptions, metrics *recorder) (*Analyst, error) {
	if metrics != nil {
		o.Upstream.OnCall = metrics.onCall()
		if o.Agent != nil {
			o.Agent.OnRun = metrics.onRun()
		}
	}
	client, err := upstream.New(o.Upstream)
	if err != nil {
		o.Agent.Close()
		return nil, &OptionError{"Analysis.Upstream", err}
	}
	a := &Analyst{o: o, client: client, metrics: metrics}
	a.explainer = analysis.New(a.options())
	return a, nil
}

func (a *Analyst) options() analysis.Options {
	o := analysis.Options{
		Deadline:   a.o.Deadline,
		Quick:      a.o.Quick,
		SourcesOff: a.o.Upstream.SourcesOff,
		Version:    versionText(),
		Log:        a.o.Log,
		OnAnalysis: a.metrics.onAnalysis(),
		Agent:      a.o.Agent,
	}
	if a.o.Upstream.RPCOnly {
		for _, ch := range chain.All() {
			if len(a.o.Upstream.Endpoints[ch.ID]) > 0 {
				o.Chains = append(o.Chains, ch)
			}
		}
	}
	return o
}

// Close ends the analyses that run and drops the connections.
func (a *Analyst) Close() {
	a.explainer.Close()
	a.client.Close()
	a.o.Agent.Close()
}

// Check returns what is wrong with a request as such, before it is analysed.
func (a *Analyst) Check(req api.Request) error { return a.explainer.Check(req) }

// Explain runs one analysis and records it where that is configured.
func (a *Analyst) Explain(ctx context.Context, spec transport.RunSpec) (*api.Result, error) {
	return a.ExplainWith(ctx, spec, &meter.Meter{Gate: spec.Gate, OnCost: spec.OnCost, Room: spec.Room})
}

// overlay is the data of the user that an analysis uses which begins now; nil: none.
func (a *Analyst) overlay() *overlay.Data {
	own := a.o.Overlay.Current()
	if a.o.PrivateLabels {
		return own
	}
	return own.Shared()
}

// BundleSuffix ends the names of recorded bundles.
const BundleSuffix = ".txlens"

// ExplainWith is Explain with a meter of the caller, which gets the costs of the analysis.
func (a *Analyst) ExplainWith(ctx context.Context, spec transport.RunSpec, m *meter.Meter) (*api.Result, error) {
	own := a.overlay()
	if res := a.explainAgain(ctx, spec, own); res != nil {
		return res, nil
	}
	var rec *upstream.Recorder
	if a.o.RecordDir != "" || a.keepsEvidence(spec) {
		rec = upstream.NewRecorder()
	}
	began := time.Now()
	var whole *job.Mined
	var cut cutOff
	world := a.client.Session(m, rec)
	reportCalls(world, spec.Sink)
	res, err := a.explainer.Explain(ctx, analysis.Input{
		ID: spec.ID, Request: spec.Request, World: world, Meter: m, Sink: spec.Sink,
		Finish: spec.Finish, Unpaid: spec.Unpaid, OnWhole: onWhole(spec, own, &whole), Own: own,
		OnExpired: func(phases []string, finished bool) { cut = cutOff{phases, finished, finished && spec.Unpaid} },
	})
	a.metrics.spent(m)
	if whole != nil && a.keepsEvidence(spec) {
		a.keepEvidence(spec, *whole, began, rec)
	}
	if a.o.RecordDir != "" && res != nil {
		if werr := a.write(rec, spec.Request, res, cut, own); werr != nil {
			return res, werr
		}
	}
	return res, err
}

// onWhole sets whole when the result of an analysis may be kept, and tells whoever asked for it.
func onWhole(spec transport.RunSpec, own *overlay.Data, whole **job.Mined) func(*chain.Chain, common.Hash, uint64) {
	if spec.Whole == nil {
		return nil
	}
	return func(ch *chain.Chain, block common.Hash, mined uint64) {
		*whole = &job.Mined{ChainID: ch.ID, Block: block, Time: int64(mined), Data: own.Digest()}
		spec.Whole(**whole)
	}
}

// reportCalls sends the calls of an analysis to a sink, which may be nil.
func reportCalls(world *upstream.Session, sink func(api.Event)) {
	if sink != nil {
		world.OnStart = func(id, tool, args string) { sink(api.ToolStarted(id, tool, args)) }
		world.OnCall = func(id string, c api.ToolCall) { sink(api.ToolEnded(id, c)) }
	}
}

// cutOff says what a result lacks because its time was over.
type cutOff struct {
	phases   []string
	finished bool // the time of the server was over, not that of the analysis
	unpaid   bool // the payer did not pay for more
}

// maxBundles is how many bundles of one transaction a folder may have.
const maxBundles = 1000

// create writes a bundle that is named after chain and hash, further ones of the transaction
// with a number.
func (a *Analyst) create(rec *upstream.Recorder, name string) (err error) {
	path := filepath.Join(a.o.RecordDir, name)
	err = rec.CreateFile(path + BundleSuffix)
	for n := 2; n <= maxBundles && errors.Is(err, fs.ErrExist); n++ {
		err = rec.CreateFile(path + "-" + strconv.Itoa(n) + BundleSuffix)
	}
	return err
}

// write writes a bundle. The context of the request is the caller's own text, and is left out
// unless the operator asked for it.
func (a *Analyst) write(rec *upstream.Recorder, req api.Request, res *api.Result, cut cutOff, own *overlay.Data) error {
	if err := os.MkdirAll(a.o.RecordDir, 0o700); err != nil {
		return fmt.Errorf("record the analysis: %w", err)
	}
	if !a.o.RecordContext {
		req.Context = ""
	}
	rec.SetMeta(upstream.Meta{
		TxHash: req.TxHash, ChainID: req.ChainID, Version: versionText(), CreatedAt: time.Now().Unix(), Context: req.Context, Model: req.Model,
		Quick: a.o.Quick, SourcesOff: a.o.Upstream.SourcesOff, RPCOnly: a.o.Upstream.RPCOnly,
		Overlay: own.Digest(), OverlayFiles: fileNames(own),
		Expired: cut.phases, DeadlineMs: a.o.Deadline.Milliseconds(), Finished: cut.finished, Unpaid: cut.unpaid,
	})
	if err := a.create(rec, res.Chain+"-"+strings.ToLower(req.TxHash)); err != nil {
		return fmt.Errorf("record the analysis: %w", err)
	}
	return nil
}

// fileNames are the names of the files of a user.
func fileNames(own *overlay.Data) (names []string) {
	for _, f := range own.Files() {
		names = append(names, f.Name)
	}
	return names
}
