package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/job"
	"txlens/engine/api"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	_ Jobs = (*fakeJobs)(nil)
	_ Runs = (*fakeRuns)(nil)
)

// fakeJobs takes what it is told to and knows what it is given.
type fakeJobs struct {
	refuse func(req api.Request) error
	jobs   map[string]*api.Job
	later  map[string]*api.Job // what takes the place of a job once it was read
}

func (f *fakeJobs) Submit(req api.Request) (string, error) {
	if err := f.refuse(req); err != nil {
		return "", err
	}
	return jobID, nil
}

func (f *fakeJobs) SubmitAs(_ string, req api.Request) error { return f.refuse(req) }

func (f *fakeJobs) Job(id string) (*api.Job, error) {
	if job := f.jobs[id]; job != nil {
		if later := f.later[id]; later != nil {
			f.jobs[id] = later
		}
		return job, nil
	}
	if id == brokenID {
		return nil, errors.New("secret: the disk is gone")
	}
	return nil, api.ErrNoJob
}

const (
	jobID     = "0199d5f0-0000-7000-8000-000000000001"
	brokenID  = "0199d5f0-0000-7000-8000-00000000000b"
	unknownID = "0199d5f0-0000-7000-8000-0000000000ff"
)

// byRequestContext refuses as the context of the request tells it to.
func byRequestContext(req api.Request) error {
	switch req.Context {
	case "full":
		return fmt.Errorf("submit: %w", api.ErrBusy)
	case "stopping":
		return api.ErrStopping
	case "chain":
		return fmt.Errorf("%w: chainId 7", api.ErrUnknownChain)
	case "broken":
		return errors.New("secret: the disk is gone")
	case "panic":
		panic("a nil map, say")
	}
	return nil
}

// TestSubmit has a row for each answer of POST /explain/async.
func TestSubmit(t *testing.T) {
	var log lockedLog
	_, url := start(t, Config{Jobs: &fakeJobs{refuse: byRequestContext}, Log: slog.New(slog.NewTextHandler(&log, nil))}, well)
	c := client(t)
	f := func(body string, status int, want, retry string) answer {
		t.Helper()
		got := do(t, c, "POST", url+"/explain/async", "application/json", strings.NewReader(body))
		if got.status != status || !strings.Contains(got.body, want) || got.header.Get("Retry-After") != retry {
			t.Errorf("%d %s, Retry-After %q\nwant %d %s, %q", got.status, got.body, got.header.Get("Retry-After"), status, want, retry)
		}
		checkHeaders(t, got)
		if strings.Contains(got.body, "secret") || strings.Contains(got.body, "nil map") {
			t.Errorf("the answer tells what only the log may: %s", got.body)
		}
		return got
	}
	with := func(context string) string { return `{"txHash":"` + hash + `","context":"` + context + `"}` }

	got := f(goodBody, 202, "", "5")
	if got.body != `{"jobId":"`+jobID+`","status":"pending"}` || got.header.Get("Location") != "/result/"+jobID {
		t.Errorf("%s, Location %q", got.body, got.header.Get("Location"))
	}
	f(`{"txHash":"`+hash+`","report":true,"model":"model-haiku-4-5-20251001","chainId":1,"context":"why?"}`, 202, `pending`, "5")
	f(`{}`, 400, `txHash: is missing`, "")
	f(`{"txHash":"0x12"}`, 400, `txHash: must be 0x and 64 hex digits`, "")
	f(`{"txHash":"`+hash+`","model":"gpt"}`, 400, `model: is unknown`, "")
	f(`{"txHash":"`+hash+`","report":1}`, 400, `report: must be a boolean`, "")
	f(with(strings.Repeat("x", 2049)), 400, `context: is 2049 bytes`, "")
	f(with("chain"), 400, `chainId: chain is not supported`, "")
	f(`{"txHash":"`+strings.Repeat("x", 70_000)+`"}`, 413, `65536`, "")
	f(with("full"), 503, `"code":"busy"`, "15")
	f(with("stopping"), 503, `"code":"stopping"`, "5")
	for _, fault := range []string{"broken", "panic"} {
		got := f(with(fault), 500, `{"error":"Internal server error","requestId":"err-`+"", "")
		var body map[string]string
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || len(body) != 2 || body["requestId"] != "err-"+got.header.Get("X-Request-Id") {
			t.Errorf("%s, %v", got.body, err)
		}
		if !strings.Contains(log.String(), got.header.Get("X-Request-Id")) {
			t.Errorf("the log does not have %s: %s", got.header.Get("X-Request-Id"), log.String())
		}
	}
	if got := do(t, c, "POST", url+"/explain/async", "text/plain", strings.NewReader(goodBody)); got.status != 415 {
		t.Errorf("text/plain: %d %s", got.status, got.body)
	}
	if got := do(t, c, "GET", url+"/explain/async", "", nil); got.status != 405 || got.header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
}

// lockedLog is read while the server writes.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestPoll has a row for each answer of GET /result/{jobId}.
func TestPoll(t *testing.T) {
	const done, page, failed, unpaid, running = "0199d5f0-0000-7000-8000-000000000002", "0199d5f0-0000-7000-8000-000000000003",
		"0199d5f0-0000-7000-8000-000000000004", "0199d5f0-0000-7000-8000-00000000000a", "0199d5f0-0000-7000-8000-000000000006"
	whole, err := jsonv2.Marshal(result(api.Request{TxHash: hash}))
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*api.Job{
		jobID:   {JobID: jobID, Status: api.JobPending},
		running: {JobID: running, Status: api.JobRunning},
		done:    {JobID: done, Status: api.JobComplete, Result: whole},
		page:    {JobID: page, Status: api.JobComplete, Result: whole, HTML: "<!doctype html>\n<p>\"é"},
		failed:  {JobID: failed, Status: api.JobError, Error: "it broke"},
		unpaid:  {JobID: unpaid, Status: api.JobError, Error: "no money", ErrorCode: api.CodePayment},
	}
	_, url := start(t, Config{Jobs: &fakeJobs{jobs: jobs}}, well)
	c := client(t)
	f := func(id string, status int, want, retry string) {
		t.Helper()
		got := do(t, c, "GET", url+"/result/"+id, "", nil)
		if got.status != status || got.body != want || got.header.Get("Retry-After") != retry {
			t.Errorf("%d %s, Retry-After %q\nwant %d %s, %q", got.status, got.body, got.header.Get("Retry-After"), status, want, retry)
		}
		checkHeaders(t, got)
	}
	const gone = `{"error":"Job not found - expired or invalid ID"}`
	f(jobID, 200, `{"jobId":"`+jobID+`","status":"pending"}`, "5")
	f(running, 200, `{"jobId":"`+running+`","status":"running"}`, "5")
	f(done, 200, `{"jobId":"`+done+`","status":"complete","result":`+string(whole)+`}`, "")
	f(page, 200, `{"jobId":"`+page+`","status":"complete","result":`+string(whole)+`,"html":"<!doctype html>\n<p>\"é"}`, "")
	f(failed, 200, `{"jobId":"`+failed+`","status":"error","error":"it broke"}`, "")
	f(unpaid, 200, `{"jobId":"`+unpaid+`","status":"error","error":"no money","errorCode":"upstream_payment_unavailable"}`, "")
	f(strings.ToUpper(unpaid), 200, `{"jobId":"`+unpaid+`","status":"error","error":"no money","errorCode":"upstream_payment_unavailable"}`, "")
	f(unknownID, 404, gone, "")
	f("0f8fad5b-d9cb-469f-a165-70867728950e", 404, gone, "")
	f("x", 404, gone, "")
	f("%7B"+jobID+"%7D", 404, gone, "")
	f(strings.ReplaceAll(jobID, "-", ""), 404, gone, "")
	if got := do(t, c, "GET", url+"/result/"+brokenID, "", nil); got.status != 500 || !strings.Contains(got.body, `"code":"internal_error"`) || strings.Contains(got.body, "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, path := range []string{"/result", "/result/", "/result/" + jobID + "/", "/result/" + jobID + "/x", "/results/" + jobID} {
		if got := do(t, c, "GET", url+path, "", nil); got.status != 404 || !strings.Contains(got.body, "GET /result/{jobId}") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := do(t, c, "HEAD", url+"/result/"+done, "", nil); got.status != 200 || got.body != "" {
		t.Errorf("HEAD: %d %s", got.status, got.body)
	}
	if got := do(t, c, "POST", url+"/result/"+done, "", nil); got.status != 405 || got.header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("POST: %d %s", got.status, got.body)
	}
}

// fakeRuns keeps records in a map.
type fakeRuns struct {
	mu     sync.Mutex
	frames map[string][]jsontext.Value // nil: errored
	faults map[string]api.Fault
	broken bool
}

func (*fakeRuns) Keeps(job.RunClass) bool { return true }

func (f *fakeRuns) Put(row job.RunRow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("secret: the disk is gone")
	}
	f.frames[row.ID] = nil
	if row.State == job.RunErrored {
		if f.faults == nil {
			f.faults = make(map[string]api.Fault)
		}
		f.faults[row.ID] = api.Fault{Code: row.ErrorCode, Message: row.Error}
		return nil
	}
	var frames []jsontext.Value
	err := json.Unmarshal(row.Frames, &frames)
	f.frames[row.ID] = frames
	return err
}

func (f *fakeRuns) Recover(id string) (*api.RunRecovery, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frames, ok := f.frames[id]
	switch {
	case id == jobID:
		return nil, fmt.Errorf("read: %w", api.ErrRunTooLarge)
	case id == brokenID:
		return nil, errors.New("secret: the disk is gone")
	case !ok:
		return nil, api.ErrNoRun
	case frames == nil && f.faults[id].Code != "" && f.faults[id].Code != api.CodeInternal:
		return nil, &api.RunFailed{Fault: f.faults[id]}
	case frames == nil:
		return nil, api.ErrRunErrored
	}
	return &api.RunRecovery{RequestID: id, FinishedAt: 1_760_000_000, Frames: frames}, nil
}

func (f *fakeRuns) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.frames)
}

// TestRecover has a row for each answer of GET /explain/run/{requestId}, after runs
// in the blocking form.
func TestRecover(t *testing.T) {
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	_, url := start(t, Config{Runs: runs}, byContext)
	c := client(t)
	f := func(id string, status int, want string) {
		t.Helper()
		got := do(t, c, "GET", url+"/explain/run/"+id, "", nil)
		if got.status != status || got.body != want {
			t.Errorf("%d %s\nwant %d %s", got.status, got.body, status, want)
		}
		checkHeaders(t, got)
	}
	run := func(more string) (id, body string) {
		got := do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(`{"txHash":"`+hash+`"`+more+`}`))
		return got.header.Get("X-Request-Id"), got.body
	}
	head := func(id string) string {
		return `{"requestId":"` + id + `","finishedAt":1760000000,"frames":[{"type":"complete","requestId":"` + id + `"},`
	}
	id, body := run("")
	f(id, 200, head(id)+`{"type":"result","requestId":"`+id+`",`+strings.TrimPrefix(body, "{")+`]}`)
	f(strings.ToUpper(id), 200, head(id)+`{"type":"result","requestId":"`+id+`",`+strings.TrimPrefix(body, "{")+`]}`)
	id, body = run(`,"report":true`)
	page, _ := jsontext.AppendQuote(nil, body)
	f(id, 200, head(id)+`{"type":"report","requestId":"`+id+`","html":`+string(page)+`}]}`)
	for _, c := range []struct{ context, code string }{
		{"nowhere", api.CodeNotFound}, {"pending", api.CodePending}, {"unpaid", api.CodePayment},
	} {
		id, body = run(`,"context":"` + c.context + `"`)
		f(id, 409, strings.TrimSuffix(body, "}")+`,"requestId":"`+id+`"}`)
		if !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %s", c.context, body)
		}
	}
	for _, context := range []string{"broken", "nothing"} {
		id, _ = run(`,"context":"` + context + `"`)
		f(id, 409, `{"error":"the run ended in an error and left nothing to replay","code":"run_errored","requestId":"`+id+`"}`)
	}
	f(jobID, 409, `{"error":"the result of the run was too large to keep","code":"run_too_large","requestId":"`+jobID+`"}`)
	before := runs.len()
	id, _ = run(`,"model":"gpt"`)
	gone := func(id string) string {
		return `{"error":"no run under this request id: it is unknown, older than 30 days, or was not kept","code":"run_not_found","requestId":"` + id + `"}`
	}
	f(id, 404, gone(id))
	id, _ = run(`,"context":"chain"`)
	f(id, 404, gone(id))
	f(unknownID, 404, gone(unknownID))
	f("x", 404, `{"error":"unknown request id","code":"run_not_found"}`)
	if runs.len() != before {
		t.Error("a request that was refused left a record")
	}
	if got := do(t, c, "GET", url+"/explain/run/"+brokenID, "", nil); got.status != 500 || strings.Contains(got.body, "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	runs.mu.Lock()
	runs.broken = true
	runs.mu.Unlock()
	if _, body := run(""); !strings.Contains(body, "Sent 1 ETH.") {
		t.Errorf("a run that cannot be recorded is answered %s", body)
	}
}

// TestRunAtWork: a run that has not ended is told apart from one that nobody knows.
func TestRunAtWork(t *testing.T) {
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	release := make(chan struct{})
	_, url := start(t, Config{Runs: runs}, func(ctx context.Context, req api.Request) (*api.Result, error) {
		<-release
		return byContext(ctx, req)
	})
	c := client(t)
	f := func(id string, status int, want, wait string) {
		t.Helper()
		got := do(t, c, "GET", url+"/explain/run/"+id, "", nil)
		if got.status != status || !strings.Contains(got.body, want) || got.header.Get("Retry-After") != wait {
			t.Errorf("%d %v %s\nwant %d %s", got.status, got.header, got.body, status, want)
		}
	}
	ids := map[string]*http.Response{}
	for _, word := range []string{"", "broken"} {
		_, resp := open(t, url, `{"txHash":"`+hash+`","context":"`+word+`"}`)
		id := resp.Header.Get("X-Request-Id")
		ids[word] = resp
		f(id, 409, `"code":"run_in_progress","requestId":"`+id+`"`, "5")
		f(strings.ToUpper(id), 409, `"code":"run_in_progress","requestId":"`+id+`"`, "5")
	}
	f(unknownID, 404, `"code":"run_not_found"`, "")
	close(release)
	for _, resp := range ids {
		frames(t, resp)
	}
	runs.mu.Lock()
	runs.broken = true // a run that ends without a record is at work no more
	runs.mu.Unlock()
	_, resp := open(t, url, `{"txHash":"`+hash+`"}`)
	frames(t, resp)
	f(resp.Header.Get("X-Request-Id"), 404, `"code":"run_not_found"`, "")
	f(ids[""].Header.Get("X-Request-Id"), 200, `"type":"result"`, "")
	f(ids["broken"].Header.Get("X-Request-Id"), 409, `"code":"run_errored"`, "")
}

// TestWithoutStore: what needs one says that there is none.
func TestWithoutStore(t *testing.T) {
	_, url := start(t, Config{}, well)
	c := client(t)
	f := func(method, path string, status int, want string) {
		t.Helper()
		got := do(t, c, method, url+path, "application/json", strings.NewReader(goodBody))
		if got.status != status || !strings.Contains(got.body, want) {
			t.Errorf("%d %s, want %d %s", got.status, got.body, status, want)
		}
	}
	f("POST", "/explain/async", 503, `"code":"jobs_off"`)
	f("GET", "/result/"+jobID, 404, noSuchJob)
	f("GET", "/explain/run/"+jobID, 404, `"code":"run_not_found"`)
	f("POST", "/explain", 200, `"summary"`)
}

// TestGoneClientsRun: who went away before the end finds that nothing is there.
func TestGoneClientsRun(t *testing.T) {
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	started := make(chan struct{})
	_, url := start(t, Config{Runs: runs}, func(ctx context.Context, _ api.Request) (*api.Result, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST /explain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(goodBody), goodBody)
	<-started
	c.Close()
	for end := time.Now().Add(30 * time.Second); runs.len() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if runs.len() != 1 {
		t.Errorf("%d records", runs.len())
	}
	for id := range runs.frames {
		if _, err := runs.Recover(id); !errors.Is(err, api.ErrRunErrored) {
			t.Errorf("%v", err)
		}
	}
}
