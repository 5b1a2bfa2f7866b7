package service

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"
)

// Answer is an answer, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Is complains unless the answer has the status and all of the texts, or where it asks
// for payment or tells what only the operator may know.
func (s Answer) Is(t *testing.T, status int, texts ...string) Answer {
	t.Helper()
	s.Has(t, status, texts...)
	for name := range s.Header {
		if name == "Www-Authenticate" || strings.HasPrefix(name, "Payment-") {
			t.Errorf("nothing is to be paid, and the server sent %s", name)
		}
	}
	if strings.Contains(s.Body, "use_metered_sse") || strings.Contains(s.Body, "deposit_below_minimum") {
		t.Errorf("%.300s", s.Body)
	}
	return s
}

// Has is is for an answer that may be about payment.
func (s Answer) Has(t *testing.T, status int, texts ...string) Answer {
	t.Helper()
	if s.Status != status {
		t.Errorf("%d, want %d: %.300s", s.Status, status, s.Body)
	}
	for _, text := range texts {
		if !strings.Contains(s.Body, text) {
			t.Errorf("it lacks %q: %.300s", text, s.Body)
		}
	}
	if strings.Contains(s.Body, "secret") {
		t.Errorf("%.300s", s.Body)
	}
	return s
}

// RequestID is that of the header.
func (s Answer) RequestID() string { return s.Header.Get("X-Request-Id") }

// JSON decodes the body.
func (s Answer) JSON(t *testing.T) (o Object) { t.Helper(); s.decode(t, &o); return o }

func (s Answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := stdjson.Unmarshal([]byte(s.Body), into); err != nil {
		t.Errorf("%v: %.300s", err, s.Body)
	}
}

// Object is a JSON object.
type Object = map[string]any

// NoControls allows line ends and nothing else that moves a cursor or turns text.
func NoControls(t testing.TB, what string, b []byte) {
	t.Helper()
	for i, r := range string(b) {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			t.Errorf("%s has the character %U at %d: %q", what, r, i, b[max(0, i-40):min(len(b), i+40)])
			return
		}
	}
}

// CheckLacks reports strings that must not be in any output.
func CheckLacks(t testing.TB, what, text string, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(b)); i >= 0 {
			t.Errorf("%s holds %q: %s", what, b, fmt.Sprintf("%.160s", text[max(0, i-60):]))
		}
	}
}

// Taken is an order that was.
func (s Answer) Taken(t *testing.T) Answer {
	t.Helper()
	if s.Status != http.StatusAccepted {
		t.Fatalf("%d %s", s.Status, s.Body)
	}
	return s
}

// JobOf is the job of an answer that was taken.
func (s Answer) JobOf(t *testing.T) string {
	t.Helper()
	id, _ := s.Taken(t).JSON(t)["jobId"].(string)
	return id
}
