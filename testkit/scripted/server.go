package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Key is the only key that a Server takes. Without any key the OpenAI format is
// spoken too, as a server on one's own machine does.
const Key = "sk-scripted-0123456789abcdef"

// Server answers as a vendor would. It is safe for concurrent use.
type Server struct {
	http   *httptest.Server
	answer func(n int, r Request) Turn

	mu       sync.Mutex
	requests []Request
}

// Request is what came in. Bodies are kept byte for byte.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// New starts a server that gives one turn after the other. A request beyond the
// last one is rejected.
func New(turns ...Turn) *Server {
	return Answering(func(n int, _ Request) Turn {
		if n < len(turns) {
			return turns[n]
		}
		return Turn{
			Fault: Fault{Status: http.StatusBadRequest, Message: fmt.Sprintf("the script has %d turns, this is request %d", len(turns), n+1)},
		}
	})
}

// Answering starts a server that asks what to answer to the n-th request, from 0.
// Answer is called from many goroutines.
func Answering(answer func(n int, r Request) Turn) *Server {
	s := &Server{answer: answer}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close ends the server and all that it still sends.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Anthropic is the base URL of the Messages API.
func (s *Server) Anthropic() string { return s.http.URL }

// OpenAI is the base URL of Chat Completions.
func (s *Server) OpenAI() string { return s.http.URL + "/v1" }

// Requests are those that came until now, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// keep counts the request.
func (s *Server) keep(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return len(s.requests) - 1
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went
	}
	req := Request{r.Method, r.URL.Path, r.Header.Clone(), body}
	n := s.keep(req)
	v := vendorOf(r.URL.Path)
	if v == nil || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	if fault := v.check(r.Header, body); fault != nil {
		v.refuse(w, fault)
		return
	}
	t := s.answer(n, req)
	if t.Fault.Mute {
		<-r.Context().Done()
		return
	}
	if t.Fault.Status != 0 {
		v.refuse(w, &t.Fault)
		return
	}
	var head struct {
		Model         string
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		panic(err) // checked before
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", n))
	send(w, r, v.events(n, head.Model, head.StreamOptions.IncludeUsage, &t), v, &t.Fault)
}

// send streams the events and does what the fault says.
func send(w http.ResponseWriter, r *http.Request, events []string, v *vendor, f *Fault) {
	write := func(text string) bool {
		if f.Pause > 0 {
			select {
			case <-r.Context().Done():
			case <-time.After(f.Pause):
			}
		}
		if _, err := io.WriteString(w, text); err != nil || r.Context().Err() != nil {
			return false
		}
		w.(http.Flusher).Flush()
		return true
	}
	for i, e := range append(events, "") {
		if i == f.After && !misbehave(r, write, e, v, f) {
			return
		}
		if e != "" && !write(e) {
			return
		}
	}
}

// misbehave does what the fault says and reports whether the rest is to follow.
func misbehave(r *http.Request, write func(string) bool, next string, v *vendor, f *Fault) bool {
	switch {
	case f.Error != "":
		write(v.errorEvent(f))
	case f.Garbage != "":
		return write(f.Garbage)
	case f.Cut:
		write(next[:len(next)/2])
		panic(http.ErrAbortHandler) // breaks the connection
	case f.End:
	case f.Silent:
		write("") // the header goes out
		<-r.Context().Done()
	case f.Endless:
		for write(v.more) {
		}
	case f.Flood:
		write("data: ")
		for write(strings.Repeat("x", 64<<10)) {
		}
	default:
		return true
	}
	return false
}
