package api

import "slices"

// Codes tell programs what an error is about, where the status alone does not.
// ErrorCodes says of each where it stands, what it means and what to do.
const (
	CodeInternal       = "internal_error"
	CodeNotFound       = "transaction_not_found"
	CodePending        = "transaction_pending"
	CodeInvalid        = "invalid_request"
	CodeBusy           = "busy"
	CodeStopping       = "stopping"
	CodePayment        = "upstream_payment_unavailable"
	CodeUnavailable    = "upstream_unavailable"
	CodeJobsOff        = "jobs_off"
	CodeDeadline       = "deadline_passed"
	CodeInterrupted    = "interrupted"
	CodeNoRun          = "run_not_found"
	CodeRunAtWork      = "run_in_progress"
	CodeRunErrored     = "run_errored"
	CodeRunInterrupted = "run_interrupted"
	CodeRunTooLarge    = "run_too_large"
	CodeUseSSE         = "use_metered_sse"
	CodeDeposit        = "deposit_below_minimum"
	CodeUnpaid         = "payment_incomplete"
)

// ErrorCode is what a caller should know of one code.
type ErrorCode struct {
	Code    string
	Status  int  // of the answers whose body has it; 0: no body has
	Event   bool // error events of a stream have it, too
	Job     bool // it can be the errorCode of a job
	Metered bool // only where the service is paid for
	Meaning string
	Action  string // what the caller can do about it
}

// ErrorCodes lists all codes, for the handlers, the documents and whoever
// adds one. An error whose status says it all (400, 404 of a path or a job, 405,
// 413 ...) has none.
func ErrorCodes() []ErrorCode { return slices.Clone(errorCodes) }

var errorCodes = []ErrorCode{
	{Code: CodeInternal, Status: 500, Event: true, Job: true,
		Meaning: "The service failed, and no partial result could be made.",
		Action:  "Retry once after a few seconds. The request id finds the cause in the operator's log."},
	{Code: CodeNotFound, Status: 404, Event: true, Job: true,
		Meaning: "Every chain that was asked answered, and none knows the hash.",
		Action:  "Check the hash and, when you gave one, the chainId. The answer will stay the same."},
	{Code: CodeUnavailable, Status: 502, Event: true, Job: true,
		Meaning: "A chain that may have the transaction did not answer; message and error name those chains. Nothing is known of the transaction.",
		Action:  "Ask again after the seconds that Retry-After names, else after 30 seconds. With chainId only that chain is asked."},
	{Code: CodePending, Status: 409, Event: true, Job: true,
		Meaning: "A chain knows the transaction, but no block has it yet.",
		Action:  "Ask again when it is mined: after a block or two of that chain."},
	{Code: CodeInvalid, Event: true, Job: true,
		Meaning: "The request is wrong in a way that was noticed only after the stream began, or after the job was taken; message names the field. Elsewhere this is status 400 without a code.",
		Action:  "Correct the field. The same request fails again."},
	{Code: CodeBusy, Status: 503, Event: true,
		Meaning: "As many analyses run, as many jobs wait, or as many large answers are being read, as the service takes at a time.",
		Action:  "Ask again after the seconds that Retry-After names; in a stream, request what recover names, if it is there."},
	{Code: CodeStopping, Status: 503, Event: true,
		Meaning: "The server is being stopped, for an update as a rule.",
		Action:  "Ask again after the seconds that Retry-After names; in a stream, request what recover names first, if it is there."},
	{Code: CodePayment, Status: 502, Job: true,
		Meaning: "The service could not pay one of its own upstream providers. Your payment is fine. A stream never tells this code.",
		Action:  "Do not treat it as a failed payment of yours. Retry at most twice, some minutes apart."},
	{Code: CodeJobsOff, Status: 503,
		Meaning: "This deployment takes no jobs.",
		Action:  "Use POST /explain."},
	{Code: CodeDeadline, Job: true,
		Meaning: "The time for the analysis was over and nothing was known yet.",
		Action:  "Submit it again once. With chainId the search for the chain is saved."},
	{Code: CodeInterrupted, Job: true,
		Meaning: "The server crashed twice while it worked on the job.",
		Action:  "Submit it again once; if that ends the same way, this transaction is the cause: report it."},
	{Code: CodeNoRun, Status: 404, Event: true,
		Meaning: "There is no run under this request id: it is unknown, older than 30 days, or runs are not kept here.",
		Action:  "Check the id; else ask for the analysis anew."},
	{Code: CodeRunAtWork, Status: 409,
		Meaning: "The run is still at work.",
		Action:  "Ask again after the seconds that Retry-After names."},
	{Code: CodeRunErrored, Status: 409, Event: true,
		Meaning: "The run ended in an error and left nothing to replay. Where the cause is known, its own code stands in place of this one.",
		Action:  "Ask for the analysis anew."},
	{Code: CodeRunInterrupted, Status: 409, Metered: true,
		Meaning: "The server was interrupted while it worked on the run, before there was a result. What was paid is kept for it.",
		Action:  "Repeat the request within the hour: it joins the run, and what was paid counts. Otherwise that money becomes credit of its channel."},
	{Code: CodeRunTooLarge, Status: 409, Event: true,
		Meaning: "The result of the run was too large to be kept.",
		Action:  "Ask for the analysis anew, where it is sold with fresh: true, and read the stream to its end; or submit it as a job."},
	{Code: CodeUseSSE, Status: 402, Metered: true,
		Meaning: "Not a bill: a paid POST /explain is answered as a stream only.",
		Action:  "Repeat it with Accept: text/event-stream through a client that speaks MPP sessions, or use POST /explain/async."},
	{Code: CodeDeposit, Status: 402, Metered: true,
		Meaning: "The deposit of your payment channel is below the smallest one that is served.",
		Action:  "Top the channel up, or open one with the suggested deposit."},
	{Code: CodeUnpaid, Event: true, Job: true, Metered: true,
		Meaning: "The analysis is not paid in full: no voucher came in time, or the channel's deposit is used up. What was paid for was done, and a run that came to a result is kept.",
		Action:  "Do not ask for the analysis anew: request what recover names, which is GET /explain/run/{requestId}. It asks for the outstanding balance and nothing else. Without recover, or on a job, nothing was kept."},
}

// CodesOf lists the codes that pick chooses, in the order of ErrorCodes.
func CodesOf(pick func(ErrorCode) bool) []string {
	var codes []string
	for _, c := range errorCodes {
		if pick(c) && !slices.Contains(codes, c.Code) {
			codes = append(codes, c.Code)
		}
	}
	return codes
}
