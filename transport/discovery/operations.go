package discovery

import (
	"fmt"
	"slices"

	"txlens/engine/api"
)

// operation is one endpoint.
type operation struct {
	method, path, id, tag string
	payment               string // description of what is paid for; empty: free
	moves                 bool   // it manages a payment channel and sells nothing, so it has no offer
	unlisted              bool   // another operation of the path is listed instead
	summary, text         string
	body                  *media // body of the request
	bodyOptional          bool
	params                []parameter
	answers               []answer
}

// parameter is a path parameter, or a query parameter if it has another place.
type parameter struct {
	name, text string
	schema     schema // nil: a UUID in the path
	query      bool
}

// viewParam selects the view of an answer.
func viewParam() parameter {
	return parameter{
		name: "view", text: "How much of the result is sent; see the member view of ExplainRequest.",
		schema: schema{"enum": anys(api.ViewNames())}, query: true,
	}
}

// media is a content type and its schema.
type media struct {
	kind    string
	schema  schema
	example any
	extra   map[string]any
}

// answer is one status of an operation.
type answer struct {
	name    string // name of the component, if several operations share it
	status  int
	text    string
	bodies  []media
	headers []string // in addition to those of every answer
	metered bool     // only if the service is metered
	problem bool     // a payment may be refused with it
	plain   string   // name of the component without payment, if it differs
}

func jsonOf(name string) media { return media{kind: "application/json", schema: ref(name)} }

func textOf(kind string) media { return media{kind: kind, schema: schema{"type": "string"}} }

// errorsOf returns the codes of a status as text.
func errorsOf(status int, codes ...string) string {
	var out string
	for _, c := range api.ErrorCodes() {
		if c.Status == status && slices.Contains(codes, c.Code) {
			out += fmt.Sprintf("\n\n`%s`: %s %s", c.Code, c.Meaning, c.Action)
		}
	}
	return out
}

func refused(status int, text string, codes ...string) answer {
	a := answer{status: status, text: text + errorsOf(status, codes...), bodies: []media{jsonOf("ErrorBody")}}
	if status == 503 || status == 429 {
		a.headers = []string{"Retry-After"}
	}
	return a
}

// shared returns an answer that is defined once among the components.
func shared(name string, a answer) answer {
	a.name = name
	return a
}

// commonAnswers are the answers of any operation to an invalid request, or if the service cannot
// answer.
var commonAnswers = []answer{
	shared("BadRequest", refused(400, "The request is not valid HTTP, or it is wrong; `error` names the field.")),
	shared("RequestTimeout", refused(408, "The request did not arrive in time.")),
	shared("TooManyConnections", refused(429, "There are too many connections from one address. Its code is `busy`.")),
	shared("HeaderTooLarge", refused(431, "The header is too large.")),
	shared("InternalError", refused(500, "The service failed.", api.CodeInternal)),
	shared("Unavailable", refused(503, "Not now.", api.CodeBusy, api.CodeStopping)),
}

// withBody are the further answers of an operation with a request body.
var withBody = []answer{
	shared("BodyTooLarge", refused(413, "The body is too large.")),
	shared("UnsupportedMediaType", refused(415, "The body does not say that it is application/json.")),
}

// problems is the body of a refused payment.
var problems = media{kind: "application/problem+json", schema: ref("Problem")}

// onPaid are the answers of always for a paid operation, where the same statuses also report
// faults of the payment.
var onPaid = []answer{
	shared("BadPaidRequest", orProblem(commonAnswers[0])), commonAnswers[1], shared("TooManyPayments", orProblem(tooManyPayments)), commonAnswers[3],
	shared("PaidInternalError", orProblem(commonAnswers[4])), shared("PaidUnavailable", orProblem(commonAnswers[5])),
}

// tooManyPayments is the 429 of a paid operation.
var tooManyPayments = func() answer {
	a := commonAnswers[2]
	a.text += " Or one payment channel, payer or address sent too many vouchers or openings: see `detail`. Nothing was charged."
	return a
}()

func orProblem(a answer) answer {
	a.plain = a.name
	a.problem, a.bodies = true, append(slices.Clone(a.bodies), problems)
	return a
}

// challenge is the 402 of a paid operation; apart are its bodies other than a challenge.
func challenge(text string, apart ...string) answer {
	a := answer{status: 402, text: text, metered: true, headers: []string{"WWW-Authenticate"}, bodies: []media{problems}}
	switch len(apart) {
	case 1:
		a.bodies = append(a.bodies, jsonOf(apart[0]))
	case 2:
		a.bodies = append(a.bodies, media{kind: "application/json", schema: schema{"anyOf": []any{ref(apart[0]), ref(apart[1])}}})
	}
	return a
}

// sessions are the further answers of a paid operation to a payment session.
var sessions = []answer{
	{
		name:    "PaymentMessage",
		status:  204,
		text:    "A payment message without a request (voucher, top-up, close) was accepted.",
		metered: true,
		headers: []string{"Payment-Receipt"},
	},
	{
		name:    "ChannelGone",
		status:  410,
		text:    "The payment channel is unknown or closed: open another.",
		metered: true,
		headers: []string{"WWW-Authenticate"},
		bodies:  []media{problems},
	},
}

// exampleHash is the hash of a transaction on Ethereum.
const exampleHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

var exampleRequest = map[string]any{"txHash": exampleHash}

func explainBody() *media {
	m := jsonOf("ExplainRequest")
	m.example = exampleRequest
	return &m
}

// operations are all endpoints, the most important first.
func operations(metered bool) []operation {
	list := []operation{opExplain(), opAsync(), opResult(), opRecover(), opPart(), opExport(), opDeposit(), opHealth()}
	if metered {
		list = append(list, opManage(opResult(), "manageAtResult"), opManage(opRecover(), "manageAtRun"), opManage(opPart(), "manageAtPart"),
			opManage(opExport(), "manageAtExport"))
	}
	return slices.Concat(list, mcpOps(), pageOps(), documentOps())
}

func pathParams(all []parameter) (out []parameter) {
	for _, p := range all {
		if !p.query {
			out = append(out, p)
		}
	}
	return out
}

// opManage is POST on a paid path whose result is read by GET.
func opManage(read operation, id string) operation {
	return operation{
		method: "post", path: read.path, id: id, tag: "payment", payment: "session management", moves: true, params: pathParams(read.params),
		summary: "Move the payment channel under the address that was used last",
		text:    "For a client that tops up or closes its channel, or signs a voucher, where it paid last. It takes no body; nothing is charged for it, and nothing is read.",
		answers: slices.Concat([]answer{challenge("The credential is missing or refused: the terms are in WWW-Authenticate.")}, sessions, onPaid),
	}
}

func opExplain() operation {
	stream := textOf("text/event-stream")
	stream.extra = map[string]any{"x-event-schema": ref("StreamEvent"), namedEvents: map[string]any{
		"payment-need-voucher": ref("NeedVoucher"), "payment-receipt": ref("PaymentReceipt"),
	}}
	return operation{
		method: "post", path: "/explain", id: "explainTransaction", tag: "analysis", payment: "metered session",
		summary: "Explain a transaction, and wait for it",
		text: "With `Accept: text/event-stream` the answer is a stream of server-sent events: progress, then `complete`, then `result` (or `report`), or one `error` in their place. " +
			"Each event is one object of JSON after `data: `; its schema is StreamEvent. A stream that ends without `result`, `report` or `error` broke off: recover the run with GET /explain/run/{requestId}. " +
			"Where the service is metered two further events have a name of their own, in a line before their data: `event: payment-need-voucher` (NeedVoucher) and, after the last frame, `event: payment-receipt` (PaymentReceipt). " +
			"Without it the answer comes once, when the analysis has ended; where the service is metered, that form is refused with `use_metered_sse`.",
		body: explainBody(),
		answers: slices.Concat([]answer{
			{
				status:  200,
				text:    "The stream; or the result, complete or partial; or, with report, the HTML page. Look at `analysisModel` before you trust a result: `partial-synthesis` marks a partial one.",
				bodies:  []media{stream, jsonOf("ExplanationResult"), textOf("text/html")},
				headers: []string{"Age", "Payment-Receipt"},
			},
			challenge(
				"Payment is needed: the terms are in WWW-Authenticate. Or, as application/json: the request asked for no stream (`use_metered_sse`), or the deposit is too small (`deposit_below_minimum`).",
				"MeteredSseRequired",
				"DepositBelowMinimum",
			),
			refused(404, "There is no such transaction.", api.CodeNotFound),
			refused(409, "The transaction is pending.", api.CodePending),
			withRetry(refused(502, "Only in the blocking form of an unmetered service.", api.CodePayment, api.CodeUnavailable)),
		}, withBody, sessions, onPaid),
	}
}

func withRetry(a answer) answer {
	a.headers = append(a.headers, "Retry-After")
	return a
}

// without returns the default answers without those that an operation replaces.
func without(list []answer, own ...int) []answer {
	return slices.DeleteFunc(slices.Clone(list), func(a answer) bool { return slices.Contains(own, a.status) })
}

func opAsync() operation {
	return operation{
		method: "post", path: "/explain/async", id: "startExplainJob", tag: "analysis", payment: "metered session",
		summary: "Start a job that explains a transaction",
		text:    "The job is on disk before its id is told. Poll GET /result/{jobId} every 5 to 15 seconds. It is kept for {jobKept} from now. Where the service is metered, it costs over its life what the stream would.",
		body:    explainBody(),
		answers: slices.Concat([]answer{
			{
				status:  202,
				text:    "The job will be run.",
				bodies:  []media{jsonOf("JobAccepted")},
				headers: []string{"Location", "Retry-After", "Payment-Receipt"},
			},
			challenge("The submit unit is owed: the terms are in WWW-Authenticate. Or the deposit is too small.", "DepositBelowMinimum"),
			orProblem(refused(503, "Not now.", api.CodeBusy, api.CodeStopping, api.CodeJobsOff)),
			orProblem(answer{status: 500, text: "The service failed before a job existed.", bodies: []media{jsonOf("AsyncFault")}}),
		}, withBody, sessions, without(onPaid, 500, 503)),
	}
}

func opResult() operation {
	return operation{
		method: "get", path: "/result/{jobId}", id: "getJobResult", tag: "analysis", payment: "metered session",
		summary: "Ask where a job stands",
		text:    "The status of the answer is that of the poll: a job that failed is 200, too. Where the service is metered, each poll pays what the analysis cost since the last one; a poll with nothing to collect is free, and so is a result that is paid. There a job that nobody pays for during {jobPatience} is aborted with what it has.",
		params:  []parameter{{name: "jobId", text: "The id from POST /explain/async, a UUID."}, viewParam()},
		answers: slices.Concat([]answer{
			{
				status:  200,
				text:    "Where the job stands. Retry-After while it is unfinished.",
				bodies:  []media{jsonOf("Job")},
				headers: []string{"Retry-After", "Payment-Receipt"},
			},
			challenge("Something is owed before the answer: the terms are in WWW-Authenticate. Or the deposit is too small.", "DepositBelowMinimum"),
			refused(404, "Unknown, no UUID, or older than {jobKept}."),
		}, sessions, onPaid),
	}
}

func opRecover() operation {
	runError := func(status int, codes ...string) answer {
		return answer{status: status, text: "There is nothing to replay." + errorsOf(status, codes...), bodies: []media{jsonOf("RunError")}}
	}
	return operation{
		method: "get", path: "/explain/run/{requestId}", id: "recoverRun", tag: "analysis", payment: "outstanding balance",
		summary: "Recover a run whose stream or connection broke off",
		text:    "A run goes on without its client, and its final frames are kept for {runKept}. Where the service is metered, only what is still owed is paid; what is paid in full is free. Asking again changes nothing.",
		params:  []parameter{{name: "requestId", text: "The requestId of any frame of the stream, or the header X-Request-Id."}, viewParam()},
		answers: slices.Concat([]answer{
			{status: 200, text: "The final frames.", bodies: []media{jsonOf("RunRecovery")}, headers: []string{"Payment-Receipt"}},
			challenge("A balance is outstanding: the terms are in WWW-Authenticate. Or the deposit is too small.", "DepositBelowMinimum"),
			runError(404, api.CodeNoRun),
			withRetry(runError(409, api.CodesOf(ofRunConflicts)...)),
		}, sessions, onPaid),
	}
}

func opDeposit() operation {
	empty := media{
		kind:   "application/json",
		schema: schema{"type": "object", "maxProperties": 0, "description": "No members: the parameters of the channel come from the challenge."},
	}
	return operation{
		method: "post", path: "/session/deposit", id: "openSession", tag: "payment", payment: "session challenge",
		summary: "Open a payment channel ahead of the first analysis",
		text:    "Nothing is bought: the deposit is held in escrow and what is not spent returns when the channel closes. Where nothing is charged the answer is ok at once.",
		body:    &empty, bodyOptional: true,
		answers: slices.Concat([]answer{
			{
				status:  200,
				text:    "The channel is open, was so before, or is not needed.",
				bodies:  []media{jsonOf("DepositOk")},
				headers: []string{"Payment-Receipt"},
			},
			challenge(
				"The expected first answer: a challenge with the terms in WWW-Authenticate. Or the deposit is too small.",
				"DepositBelowMinimum",
			),
		}, withBody, sessions, onPaid),
	}
}

func opHealth() operation {
	return operation{
		method: "get", path: "/health", id: "getHealth", tag: "service", summary: "Is the service alive?",
		text:    "Free, and asks nothing of anybody.",
		answers: slices.Concat([]answer{{status: 200, text: "It is.", bodies: []media{jsonOf("Health")}}}, commonAnswers),
	}
}

// pageOps describe the pages for people.
func pageOps() []operation {
	html := textOf("text/html")
	return []operation{
		{method: "get", path: "/", id: "getFrontPage", tag: "service", summary: "Front page, for people", text: "Free.",
			answers: slices.Concat([]answer{{status: 200, text: "The page.", bodies: []media{html}}}, commonAnswers)},
		{
			method:  "get",
			path:    "/sample.html",
			id:      "getSampleReport",
			tag:     "service",
			summary: "The report of one transaction, as a sample",
			text:    "Free.",
			answers: slices.Concat(
				[]answer{{status: 200, text: "The report.", bodies: []media{html}}, refused(404, "This server has no sample.")},
				commonAnswers,
			),
		},
		{
			method: "get", path: "/examples/{name}", id: "getExample", tag: "service", summary: "The report of an example of the front page", text: "Free.",
			params:  []parameter{{name: "name", text: "Name of the example, as the front page links it.", schema: schema{"type": "string"}}},
			answers: ofPage(answer{status: 200, text: "The report.", bodies: []media{html}}, errorPage(404, "There is no such example.")),
		},
		findOp(), txOp("/tx/{hash}", "getTransactionPage", "The report of a transaction, for people", hashParam),
		txOp("/tx/{chain}/{hash}", "getTransactionPageOnChain", "The report of a transaction of a chain, for people", chainParam, hashParam),
		{
			method: "get", path: "/run/{requestId}", id: "getRunPage", tag: "analysis", summary: "The report of a finished run or job, for people",
			text:   "Free. " + noteOfUnmeteredPages,
			params: []parameter{{name: "requestId", text: "Request id of the run, or id of the job."}},
			answers: ofPage(answer{status: 200, text: "The report.", bodies: []media{html}}, soldElsewhere, errorPage(404, "There is no such run."),
				errorPage(409, "The run has not ended, or left no result.")),
		},
	}
}

// documentOps describe the documents themselves.
func documentOps() []operation {
	var out []operation
	for _, d := range documentTable {
		body := textOf(mediaType(d.kind))
		if body.kind == "application/json" {
			body.schema = schema{"type": "object"}
		}
		out = append(out, operation{
			method: "get", path: d.path, id: d.operation, tag: "discovery", summary: d.about,
			text: "Free. With If-None-Match a document that has not changed is answered 304.",
			answers: slices.Concat([]answer{
				{status: 200, text: "The document.", bodies: []media{body}, headers: []string{"ETag"}},
				{status: 304, text: "It has not changed.", headers: []string{"ETag"}},
			}, commonAnswers),
		})
	}
	return out
}
