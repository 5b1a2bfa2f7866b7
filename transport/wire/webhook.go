package wire

import "txlens/engine/api"

// WebhookMessage is what the callback address of a job gets when the job has ended.
type WebhookMessage struct {
	Type      string     `json:"type"`
	Timestamp string     `json:"timestamp"` // RFC 3339
	Data      WebhookJob `json:"data"`
}

// WebhookJob says which job has ended and how.
type WebhookJob struct {
	JobID     string        `json:"jobId"`
	Status    api.JobStatus `json:"status"`
	TxHash    string        `json:"txHash"`
	ErrorCode string        `json:"errorCode,omitempty"`
}

// WebhookType is the type of the message for the last status of a job.
func WebhookType(status api.JobStatus) string { return "job." + string(status) }
