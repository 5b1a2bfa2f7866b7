package app

import (
	"context"
	"io"
	"sync"

	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/transport"
	"txlens/transport/mcp"
)

// Bounds of a server on stdin and stdout.
const (
	keptRuns    = 16 // finished runs that can be paged through
	runsAtATime = 4
)

// ServeMCP answers one client of the Model Context Protocol until it leaves or ctx ends.
// Nothing but the protocol is written to out.
func ServeMCP(ctx context.Context, a *Analyst, in io.Reader, out io.Writer) error {
	return serveMCP(ctx, a, in, out)
}

func serveMCP(ctx context.Context, a transport.Explainer, in io.Reader, out io.Writer) error {
	version, _ := Version()
	s := mcp.New(mcp.Config{Service: newLocalRuns(a), Version: version})
	return s.Run(ctx, &mcp.Stdio{In: in, Out: out})
}

// localRuns are the runs of one client, the newest of which are kept in memory.
type localRuns struct {
	explainer transport.Explainer
	lanes     chan struct{}

	mu    sync.Mutex
	order []string // oldest first
	runs  map[string]*api.Result
}

var _ mcp.Service = (*localRuns)(nil)

func newLocalRuns(e transport.Explainer) *localRuns {
	return &localRuns{explainer: e, lanes: make(chan struct{}, runsAtATime), runs: map[string]*api.Result{}}
}

// Explain implements mcp.Service.
func (l *localRuns) Explain(ctx context.Context, _ mcp.Call, req api.Request, progress func(api.Event)) (*mcp.Run, error) {
	if err := l.explainer.Check(req); err != nil {
		return nil, err
	}
	select {
	case l.lanes <- struct{}{}:
		defer func() { <-l.lanes }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	id := recordid.New()
	res, err := l.explainer.Explain(ctx, transport.RunSpec{ID: id, Request: req, Sink: progress})
	if res == nil {
		return nil, err
	}
	l.keep(id, res)
	return &mcp.Run{ID: id, Result: res}, nil
}

func (l *localRuns) keep(id string, res *api.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[id], l.order = res, append(l.order, id)
	if len(l.order) > keptRuns {
		delete(l.runs, l.order[0])
		l.order = l.order[1:]
	}
}

// Start implements mcp.Service: there are no jobs here.
func (l *localRuns) Start(context.Context, mcp.Call, api.Request) (*mcp.Run, error) {
	return nil, &api.BadRequest{Field: "background", Reason: "there are no jobs here; leave it out"}
}

// Job implements mcp.Service.
func (l *localRuns) Job(context.Context, mcp.Call, string) (*mcp.Job, error) {
	return nil, api.ErrNoJob
}

// Result implements mcp.Service.
func (l *localRuns) Result(_ context.Context, _ mcp.Call, id string) (*mcp.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if res := l.runs[id]; res != nil {
		return &mcp.Run{ID: id, Result: res}, nil
	}
	return nil, api.ErrNoRun
}
