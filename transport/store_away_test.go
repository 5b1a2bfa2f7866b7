package transport

import (
	"fmt"
	"testing"

	"txlens/engine/api"
	"txlens/engine/mpp"
)

// TestStoreAway: while the database does not answer, every paid path answers 503 with Retry-After.
// It does not answer 500, and does not ask for a payment whose amount it could not read.
func TestStoreAway(t *testing.T) {
	const id = "0199d5f0-0000-7000-8000-000000000042"
	away := fmt.Errorf("secret: %w", api.ErrStoreAway)
	sh := sellWith(t, spends(0), nil)
	sh.jobs.jobs[id] = &api.Job{JobID: id, Status: api.JobComplete}
	sh.runs.frames[id] = encoded(t, id)
	f := func(what string, a answer) {
		t.Helper()
		sh.wantFault(a, 503, api.CodeBusy, "the database of the server does not answer")
		if a.header.Get("Retry-After") != retryStore {
			t.Errorf("%s: %v", what, a.header)
		}
	}
	for _, method := range []string{"Pay", "Admit"} {
		sh.till.fail(method, away)
		f(method+" for a stream", sh.buy("/explain", goodBody, voucher(10_000)))
		f(method+" for a job", sh.buy("/explain/async", goodBody, voucher(10_000)))
		sh.till.fail(method, nil)
	}
	for _, path := range []string{"/result/" + id, "/explain/run/" + id} {
		pay := func(amount uint64) answer {
			return sh.ask("GET", path, "", "Authorization", sh.answerTo(path, amount, voucher(50_000)))
		}
		sh.billed(id, 10_000, 50_000, true)
		sh.till.fail("CollectHeld", away)
		f("collecting for "+path, pay(40_000))
		sh.till.fail("CollectHeld", nil)
		sh.till.fail("Bill after CollectHeld", away)
		f("after collecting for "+path, pay(40_000))
		sh.till.fail("Bill after CollectHeld", nil)
		f("the bill of "+path, sh.ask("GET", path, ""))
		sh.till.fail("Bill", nil)
		if a := sh.ask("GET", path, ""); a.status != 200 || a.header.Get(mpp.HeaderReceipt) != "" {
			t.Errorf("afterwards %s is paid: %d %s", path, a.status, a.body)
		}
		sh.till.change(func() { sh.till.accepted, sh.till.spent = 0, 0 })
	}
}
