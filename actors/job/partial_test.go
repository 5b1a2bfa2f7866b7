package job

import (
	"context"
	"errors"
	"testing"

	"txlens/engine/api"
)

// TestPartialIsDelivered: a partial result beside an error is the result of the job; one without
// evidence is not.
func TestPartialIsDelivered(t *testing.T) {
	f := func(res *api.Result, err error, status api.JobStatus) {
		t.Helper()
		j := startJobs(t, Options{Store: newShelf(), Analyst: analyst(func(context.Context, api.Request) (*api.Result, error) { return res, err })})
		job := await(t, j, submit(t, j, ask), status)
		if whole := status == api.JobComplete; (len(job.Result) > 0) != whole || (job.Error == "") != whole || (job.ErrorCode == "") != whole {
			t.Errorf("%+v", job)
		}
	}
	empty := &api.Result{AnalysisModel: api.ModelPartial}
	seen := &api.Result{AnalysisModel: api.ModelPartial, Status: api.StatusSuccess}
	f(seen, notPaid{errors.New("402")}, api.JobComplete)
	f(empty, notPaid{errors.New("402")}, api.JobError)
	f(empty, nil, api.JobComplete)
	f(nil, notPaid{errors.New("402")}, api.JobError)
}
