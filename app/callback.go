package app

import (
	"time"

	"github.com/go-json-experiment/json"

	"txlens/engine/api"
	"txlens/transport/wire"
)

// callBack sends the message that a job has ended to the address of its request.
func (s *Server) callBack(id string, req api.Request, status api.JobStatus, code string) {
	s.sales.jobStored(id, code)
	if req.CallbackURL == "" || s.callbacks == nil {
		return
	}
	m := wire.WebhookMessage{
		Type: wire.WebhookType(status), Timestamp: time.Now().UTC().Format(time.RFC3339),
		Data: wire.WebhookJob{JobID: id, Status: status, TxHash: req.TxHash, ErrorCode: code},
	}
	body, err := json.Marshal(m)
	if err != nil {
		s.o.Log.Error("webhook not sent", "id", id, "error", err)
		return
	}
	s.callbacks.Send(id, req.CallbackURL, body)
}
