package transport

import (
	"testing"

	"github.com/valyala/fasthttp"
)

func TestWantsStream(t *testing.T) {
	f := func(want bool, lines ...string) {
		t.Helper()
		var h fasthttp.RequestHeader
		for _, l := range lines {
			h.Add("Accept", l)
		}
		if got := wantsStream(&h, "application/json"); got != want {
			t.Errorf("%q: stream %v", lines, got)
		}
	}
	f(false)
	f(false, "")
	f(false, "*/*")
	f(false, "text/*")
	f(false, "application/json")
	f(false, "image/png")
	f(true, "text/event-stream")
	f(true, "Text/Event-Stream; charset=utf-8")
	f(true, "text/event-stream, */*")
	f(true, "application/json, text/event-stream")
	f(true, "application/json", "text/event-stream")
	f(true, "text/event-stream;q=0.5")
	f(true, "text/event-stream;q=0.9, application/json;q=0.8")
	f(true, "text/event-stream;q=0.5, application/json;q=0.1, */*") // the exact range counts
	f(true, "text/event-stream;q=0.5, text/html")
	f(false, "text/event-stream;q=0.8, application/json;q=0.9")
	f(false, "text/event-stream;q=0.8, application/*")
	f(false, "text/event-stream;q=0.9, */*")
	f(false, "text/event-stream;q=0")
	f(false, "text/event-stream;q=0, application/json;q=0")
	f(false, "text/event-stream;q=2")
	f(false, "text/event-stream;q=x")
	f(false, "text/event-stream;q=NaN")
	f(false, "text/event-streams", "x text/event-stream", ";;,,;q=1")
	f(true, ";;,,text/event-stream,;")

	var h fasthttp.RequestHeader
	h.Set("Accept", "text/event-stream;q=0.5, text/html;q=0.9, application/json;q=0.1")
	if wantsStream(&h, "text/html") || !wantsStream(&h, "application/json") {
		t.Error("the other form of the answer is not looked at")
	}
}
