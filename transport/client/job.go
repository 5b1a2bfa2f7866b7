package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"txlens/engine/api"
	"txlens/transport/wire"
)

// pollEvery is the usual time between two polls. The service stops a job that is not paid for
// in 90 s.
const pollEvery = 5 * time.Second

// ExplainJob buys an analysis as a job and polls it at the given interval (default 5 s) until
// it has ended. Each poll pays the accrued price. sink may be nil; it gets the job's status
// after each poll. If the end of the job was not seen the error is a *LostJob.
func (c *Client) ExplainJob(ctx context.Context, req api.Request, every time.Duration, sink func(api.JobStatus)) (*Answer, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	p := c.newPurchase()
	var id string
	err = p.resend(ctx, func() (err error) {
		id, err = p.submit(ctx, body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.poll(ctx, id, every, sink)
}

// Job polls a job that was submitted before until it has ended, like ExplainJob.
func (c *Client) Job(ctx context.Context, jobID string, every time.Duration, sink func(api.JobStatus)) (*Answer, error) {
	id, err := uuid.Parse(jobID)
	if err != nil {
		return nil, errors.New("the id of a job is a UUID")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	return c.newPurchase().poll(ctx, id.String(), every, sink)
}

// submit pays for the submission of a job and returns its id.
func (p *purchase) submit(ctx context.Context, body []byte) (string, error) {
	resp, err := p.send(ctx, apiCall{method: http.MethodPost, path: "/explain/async", body: body})
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusAccepted {
		return "", readRefusal(resp).err()
	}
	doc, err := readBody(resp, maxRefusal)
	if err != nil {
		return "", err
	}
	var accepted wire.JobAccepted
	err = json.Unmarshal(doc, &accepted)
	id, bad := uuid.Parse(accepted.JobID) // the id becomes part of a path
	if err != nil || bad != nil {
		return "", fmt.Errorf("%w: the job has no id", ErrProtocol)
	}
	return id.String(), nil
}

// LostJob means that the end of a job was not seen. It continues while polls pay for it; Job
// polls it again.
type LostJob struct {
	JobID string
	Err   error
}

func (e *LostJob) Error() string { return "the job is not at its end: " + e.Err.Error() }
func (e *LostJob) Unwrap() error { return e.Err }

// poll polls a job until it has ended.
func (p *purchase) poll(ctx context.Context, id string, every time.Duration, sink func(api.JobStatus)) (*Answer, error) {
	if every <= 0 {
		every = pollEvery
	}
	for silent := 0; ; {
		job, err := p.job(ctx, id)
		switch {
		case err != nil && (!broken(err) || silent == maxRejoins || ctx.Err() != nil):
			return nil, &LostJob{JobID: id, Err: err}
		case err != nil:
			silent++
		case job.Status == api.JobComplete:
			return p.finished(id, job)
		case job.Status == api.JobError:
			return nil, &RunError{RequestID: id, Code: api.OneLine(job.ErrorCode, 80), Message: api.OneLine(job.Error, maxMessage)}
		default:
			silent = 0
		}
		if sink != nil && err == nil {
			sink(job.Status)
		}
		if err := sleep(ctx, every); err != nil {
			return nil, &LostJob{JobID: id, Err: err}
		}
	}
}

func (p *purchase) finished(id string, job *api.Job) (*Answer, error) {
	if job.HTML != "" {
		return p.paid(&Answer{JobID: id, HTML: job.HTML}), nil
	}
	a, err := answerOf(api.EventResult, job.Result)
	if err != nil {
		return nil, err
	}
	a.JobID = id
	return p.paid(a), nil
}

// job polls once.
func (p *purchase) job(ctx context.Context, id string) (*api.Job, error) {
	p.key = uuid.NewString() // each poll is a request of its own
	resp, err := p.send(ctx, apiCall{method: http.MethodGet, path: "/result/" + id})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, readRefusal(resp).err()
	}
	doc, err := readBody(resp, maxAnswer)
	if err != nil {
		return nil, err
	}
	var job api.Job
	if err := json.Unmarshal(doc, &job, allowInvalidUTF8); err != nil || job.JobID != id {
		return nil, fmt.Errorf("%w: the answer to a poll is no job", ErrProtocol)
	}
	return &job, nil
}
