package transport

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/transport/mcp"
	"txlens/transport/wire"
)

// mcpService implements the tools of the Model Context Protocol. If analyses are sold, a tool
// does what the paid HTTP request does.
type mcpService struct{ s *Server }

var _ mcp.Service = mcpService{}

// Explain implements mcp.Service.
func (m mcpService) Explain(ctx context.Context, call mcp.Call, req api.Request, progress func(api.Event)) (*mcp.Run, error) {
	if m.s.sold() {
		return m.startPaid(call, req)
	}
	if err := m.s.cfg.Explainer.Check(req); err != nil {
		return nil, err
	}
	if a, ok := m.s.findKept(ctx, RunSpec{Request: req}); ok {
		res, err := api.DecodeResult(a.Frame)
		return &mcp.Run{ID: a.Run, Result: res}, err
	}
	free, err := m.s.admit(callerOf(call), remoteOf(call))
	if err != nil {
		return nil, api.ErrBusy
	}
	defer free()
	work, cancel := m.s.begin()
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(errClientGone) })()
	id := newRequestID(time.Now())
	job := RunSpec{ID: id.String(), Request: req, Finish: m.s.finish, Sink: progress}
	job.memory = m.s.cfg.Memory.Work()
	defer job.memory.End()
	last, err := m.s.conclude(work, job, m.s.runsInProgress.add(job.ID), func() bool { return false })
	if err != nil {
		return nil, err
	}
	return &mcp.Run{ID: job.ID, Result: last.(wire.ResultFrame).Result}, nil
}

func remoteOf(call mcp.Call) net.Addr {
	if from, keyed := call.Origin.(callerAddr); keyed {
		return from.Addr
	}
	addr, _ := call.Origin.(net.Addr)
	return addr
}

// Start implements mcp.Service.
func (m mcpService) Start(_ context.Context, call mcp.Call, req api.Request) (*mcp.Run, error) {
	switch {
	case m.s.sold():
		return m.startPaid(call, req)
	case m.s.cfg.Jobs == nil:
		return nil, &api.BadRequest{Field: "background", Reason: "this server takes no jobs; leave it out"}
	}
	if err := m.s.room(); err != nil {
		return nil, err
	}
	mine, err := m.s.takeShare(callerOf(call))
	if err != nil {
		return nil, api.ErrBusy
	}
	id, err := m.s.cfg.Jobs.Submit(req)
	if err != nil {
		mine.refused()
		return nil, err
	}
	mine.leave()
	return &mcp.Run{ID: id}, nil
}

func (m mcpService) startPaid(call mcp.Call, req api.Request) (*mcp.Run, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	a, err := m.ask(call, "POST", pathAsync, body)
	if err != nil {
		return nil, err
	}
	var accepted wire.JobAccepted
	if err := json.Unmarshal(a.body, &accepted); err != nil {
		return nil, err
	}
	return &mcp.Run{ID: accepted.JobID, Receipt: a.receipt}, nil
}

// Job implements mcp.Service.
func (m mcpService) Job(_ context.Context, call mcp.Call, id string) (*mcp.Job, error) {
	id, ok := parseID(id)
	if !ok || m.s.cfg.Jobs == nil {
		return nil, api.ErrNoJob
	}
	if !m.s.sold() {
		job, err := m.s.cfg.Jobs.Job(id)
		return &mcp.Job{Job: job}, err
	}
	a, err := m.ask(call, "GET", "/result/"+id+"?view=full", nil)
	if err != nil {
		return nil, err
	}
	job := &mcp.Job{Job: new(api.Job), Receipt: a.receipt}
	return job, json.Unmarshal(a.body, job.Job, jsontext.AllowInvalidUTF8(true))
}

// Result implements mcp.Service.
func (m mcpService) Result(_ context.Context, call mcp.Call, id string) (*mcp.Run, error) {
	id, ok := parseID(id)
	if !ok {
		return nil, api.ErrNoRun
	}
	doc, err := m.s.finished(id)
	if err != nil {
		return nil, err
	}
	run := &mcp.Run{ID: id}
	if m.s.sold() {
		if run.Receipt, err = m.collect(call, id); err != nil {
			return nil, err
		}
	}
	run.Result, err = api.DecodeResult(doc)
	return run, err
}

// collect collects the debt of a run or job that has ended.
func (m mcpService) collect(call mcp.Call, id string) (receipt jsontext.Value, err error) {
	path := "/explain/run/" + id
	if _, err := m.s.recovered(id); errors.Is(err, api.ErrNoRun) {
		path = "/result/" + id
	}
	a, err := m.ask(call, "GET", path+"?view=summary", nil)
	return a.receipt, err
}
