package sandbox

import (
	"io"
	"net/http"
)

// ServeHTTP answers JSON-RPC posts, and every GET with a line that says what this is.
// A lost answer breaks the connection. Requests from web pages of other origins are
// not allowed for, as no header says so.
func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Sandbox", Warning)
	if r.Method != http.MethodPost {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, Warning+"\n")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		http.Error(w, "request is too large or broken", http.StatusRequestEntityTooLarge)
		return
	}
	answer, lost := c.serve(r.Context(), body)
	switch {
	case lost:
		panic(http.ErrAbortHandler)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer)
	}
}

var _ http.Handler = (*Chain)(nil)
