package transport

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"txlens/actors/recordid"
	"txlens/engine/api"

	"github.com/go-json-experiment/json/jsontext"
)

// fakeFleet is a Fleet in memory.
type fakeFleet struct {
	members int
	away    error

	mu   sync.Mutex
	runs map[string]bool
}

func (f *fakeFleet) Members() int { return f.members }

func (f *fakeFleet) BeginRun(id string) (end func()) {
	f.set(id, true)
	return func() { f.set(id, false) }
}

func (f *fakeFleet) RunAtWork(id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[id], f.away
}

func (f *fakeFleet) set(id string, atWork bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[id] = atWork
}

// TestRunElsewhere: a run that another server works on is at work here, too, and one that this server streams is
// at work for others until it ends.
func TestRunElsewhere(t *testing.T) {
	elsewhere := recordid.New()
	fleet := &fakeFleet{members: 2, runs: map[string]bool{elsewhere: true}}
	began, release := make(chan string), make(chan struct{})
	_, url := start(t, Config{Fleet: fleet, Runs: &fakeRuns{frames: map[string][]jsontext.Value{}}},
		func(_ context.Context, req api.Request) (*api.Result, error) {
			began <- req.TxHash
			<-release
			return result(req), nil
		})
	c := client(t)
	f := func(path string, want int, code string) {
		t.Helper()
		if a := do(t, c, "GET", url+path, "", nil); a.status != want || !strings.Contains(a.body, `"`+code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", path, a.status, a.body, want, code)
		}
	}
	for _, path := range []string{"/explain/run/" + elsewhere, "/explain/run/" + elsewhere + "/calls"} {
		f(path, 409, api.CodeRunAtWork)
	}
	f("/explain/run/"+unknownID, 404, api.CodeNoRun)
	fleet.away = errors.Join(errors.New("no answer"), api.ErrStoreAway)
	f("/explain/run/"+unknownID, 503, api.CodeBusy)
	fleet.away = nil

	ended := make(chan answer)
	go func() {
		ended <- do(t, sending(c, map[string]string{"Accept": "text/event-stream"}), "POST", url+"/explain", "application/json",
			strings.NewReader(`{"txHash":"`+hash+`","chainId":1}`))
	}()
	<-began
	fleet.mu.Lock()
	if len(fleet.runs) != 2 {
		t.Errorf("%v", fleet.runs)
	}
	fleet.mu.Unlock()
	close(release)
	a := <-ended
	id := a.header.Get("X-Request-Id")
	until(t, "the run is at work no more", func() bool { atWork, _ := fleet.RunAtWork(id); return !atWork })
	if _, noted := fleet.runs[id]; !noted {
		t.Errorf("the run %s was not noted: %v", id, fleet.runs)
	}
}

// TestKeyLimitsOfFleet: a key may do its part at each of several servers, and the error says that.
func TestKeyLimitsOfFleet(t *testing.T) {
	k, secrets := keyed(t, "per-minute=60 at-once=2")
	fleet := &fakeFleet{members: 2, runs: map[string]bool{}}
	began, release := make(chan struct{}, 2), make(chan struct{})
	_, url := start(t, Config{Keys: k, Fleet: fleet}, func(_ context.Context, req api.Request) (*api.Result, error) {
		began <- struct{}{}
		<-release
		return result(req), nil
	})
	c := sending(client(t), map[string]string{"Authorization": "Bearer " + secrets[0]})
	body := `{"txHash":"` + hash + `","chainId":1,"fresh":true}`
	ask := func() answer { return do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(body)) }
	first := make(chan answer)
	go func() { first <- ask() }()
	<-began
	if a := ask(); a.status != 429 || !strings.Contains(a.body, "as one of 2") {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(release)
	if a := <-first; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
