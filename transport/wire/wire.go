// Package wire declares the bodies and frames that the service sends in addition to the types
// of package api. The handlers write them and the documents describe them, from the same
// declarations.
package wire

import "txlens/engine/api"

// ErrorBody is the body of an error. Code is empty if the status is sufficient.
type ErrorBody struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

// AsyncFault is the body of status 500 of POST /explain/async: no job exists.
type AsyncFault struct {
	Error     string `json:"error"`
	RequestID string `json:"requestId"` // err- and the request id
}

// RunError is the body of an error of GET /explain/run/{requestId}.
type RunError struct {
	Error     string `json:"error"`
	Code      string `json:"code"`
	RequestID string `json:"requestId,omitempty"` // missing if the path has none
}

// Health is the body of GET /health.
type Health struct {
	Status  string  `json:"status"` // always ok
	Version string  `json:"version"`
	Commit  *string `json:"commit"` // null if the build has no commit
}

// Found is the body of GET /tx for a client that accepts JSON: what a text names.
type Found struct {
	TxHash  string `json:"txHash"`
	ChainID uint64 `json:"chainId,omitzero"` // missing if the text names no chain
	Page    string `json:"page"`             // of its report, relative to the front page
}

// JobAccepted is the body of status 202.
type JobAccepted struct {
	JobID  string        `json:"jobId"`
	Status api.JobStatus `json:"status"`
}

// DepositOK is the body of status 200 of POST /session/deposit.
type DepositOK struct {
	OK bool `json:"ok"`
}

// ResultFrame ends a stream: type, requestId and the members of the Result.
type ResultFrame struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"requestId"`
	*api.Result
}

// ReportFrame ends a stream instead of the result, if a report was requested.
type ReportFrame struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"requestId"`
	HTML      string        `json:"html"`
}

// CallFrame is one frame of rawTrace, as in geth's callTracer. Quantities are 0x hex.
type CallFrame struct {
	Type         string      `json:"type"`
	From         api.Addr    `json:"from"`
	To           api.Addr    `json:"to,omitzero"` // missing for a failed creation
	Gas          string      `json:"gas"`
	GasUsed      string      `json:"gasUsed"`
	Input        api.Hex     `json:"input"`
	Output       api.Hex     `json:"output,omitempty"`
	Value        string      `json:"value,omitempty"` // missing for a static call
	Error        string      `json:"error,omitempty"`
	RevertReason string      `json:"revertReason,omitempty"`
	Calls        []CallFrame `json:"calls,omitempty"`
}

// Problem is the body of a payment challenge (RFC 9457), content type
// application/problem+json. The terms are in the header WWW-Authenticate.
type Problem struct {
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Status      int            `json:"status"`
	Detail      string         `json:"detail"`
	Hint        string         `json:"hint,omitempty"`
	ChallengeID string         `json:"challengeId,omitempty"`
	ChannelID   string         `json:"channelId,omitempty"`
	RequiredTop string         `json:"requiredTopUp,omitempty"` // base units
	Details     map[string]any `json:"details,omitempty"`
}

// NeedVoucher is the data of the event payment-need-voucher of a paid stream. Amounts are base
// units in decimal.
type NeedVoucher struct {
	ChannelID          string `json:"channelId"`
	RequiredCumulative string `json:"requiredCumulative"`
	AcceptedCumulative string `json:"acceptedCumulative"`
	Deposit            string `json:"deposit"`
}

// PaymentReceipt is the data of the event payment-receipt and, in base64url, of the header
// Payment-Receipt. Amounts are base units in decimal.
type PaymentReceipt struct {
	Method             string `json:"method"`
	Intent             string `json:"intent"`
	Status             string `json:"status"`
	Timestamp          string `json:"timestamp"`
	Reference          string `json:"reference"`
	ChallengeID        string `json:"challengeId"`
	ChannelID          string `json:"channelId"`
	AcceptedCumulative string `json:"acceptedCumulative"`
	Spent              string `json:"spent"`
	Units              uint64 `json:"units"`
	TxHash             string `json:"txHash,omitempty"`
}

// MeteredSseRequired is the body of status 402 of a paid POST /explain without a stream. Code
// is api.CodeUseSSE.
type MeteredSseRequired struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// DepositBelowMinimum is the body of status 402 if the channel's deposit is too small. Code is
// api.CodeDeposit.
type DepositBelowMinimum struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}
