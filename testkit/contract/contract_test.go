package contract

import (
	"net/http"
	"strings"
	"testing"

	"txlens/transport/discovery"
)

func document(t *testing.T, metered bool) *Document {
	t.Helper()
	set, err := discovery.New(discovery.Config{Metered: metered})
	if err != nil {
		t.Fatal(err)
	}
	base, _ := discovery.ParseBaseURL("http://127.0.0.1:8402")
	file, _ := set.At("/openapi.json", base)
	d, err := Load(file.Body)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const id = "0199d5f0-0000-7000-8000-000000000001"

func header(kind string) http.Header {
	h := http.Header{}
	for name, v := range map[string]string{
		"Content-Type": kind, "X-Service-Version": "1", "X-Service-Cost-Model": "mpp-x402", "X-Request-Id": id, "Link": "x", "Cache-Control": "no-store",
		"Access-Control-Allow-Origin": "*",
	} {
		h.Set(name, v)
	}
	return h
}

// TestCheck: what is right passes, and each way to be wrong is told.
func TestCheck(t *testing.T) {
	d := document(t, false)
	const js = "application/json"
	f := func(method, path string, status int, kind, body, want string, change ...func(http.Header)) {
		t.Helper()
		h := header(kind)
		if kind == "" {
			h.Del("Content-Type")
		}
		for _, c := range change {
			c(h)
		}
		err := d.Check(Answer{method, path, status, h, []byte(body)})
		if got := ""; err != nil {
			if got = err.Error(); want == "" || !strings.Contains(got, want) {
				t.Errorf("%s, want %q", got, want)
			}
		} else if want != "" {
			t.Errorf("nothing is wrong with %s %s %d %s, want %q", method, path, status, body, want)
		}
	}
	set := func(name, v string) func(http.Header) { return func(h http.Header) { h.Set(name, v) } }
	del := func(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }

	const alive = `{"status":"ok","version":"1","commit":null}`
	f("GET", "/health", 200, js, alive, "")
	f("HEAD", "/health", 200, js, "", "")
	f("GET", "/health", 200, "application/json; charset=utf-8", alive, "")
	f("HEAD", "/health", 200, js, alive, "HEAD with a body")
	f("GET", "/health", 200, js, `{"status":"fine","version":"1","commit":null}`, "/status")
	f("GET", "/health", 200, js, `{"status":"ok","version":1,"commit":null}`, "/version")
	f("GET", "/health", 200, js, `{"status":"ok","version":"1"}`, "commit")
	f("GET", "/health", 200, js, `{"status":"ok","version":"1","commit":null,"uptime":7}`, "uptime")
	f("GET", "/health", 200, js, `ok`, "no JSON")
	f("GET", "/health", 200, "text/plain", alive, "content type")
	f("GET", "/health", 201, js, alive, "not described")
	f("GET", "/health", 200, js, alive, "X-Request-Id is missing", del("X-Request-Id"))
	f("GET", "/health", 200, js, alive, "header X-Service-Version", set("X-Service-Version", "2"))
	f("GET", "/health", 200, js, alive, "header X-Request-Id", set("X-Request-Id", "7"))
	f("GET", "/health", 503, js, `{"error":"full","code":"busy"}`, "header Retry-After", set("Retry-After", "soon"))

	f("POST", "/explain", 400, js, `{"error":"txHash: is missing"}`, "")
	f("POST", "/explain", 503, js, `{"error":"full","code":"busy"}`, "")
	f("POST", "/explain", 503, js, `{"error":"full","code":"crowded"}`, "/code")
	f("POST", "/explain", 200, js, `{"txHash":"0x12"}`, "missing properties")
	f("POST", "/explain/async", 202, js, `{"jobId":"`+id+`","status":"pending"}`, "Location is missing")
	f("POST", "/explain/async", 202, js, `{"jobId":"7","status":"pending"}`, "/jobId", set("Location", "/result/7"))
	f("GET", "/result/"+id, 200, js, `{"jobId":"`+id+`","status":"running"}`, "")
	f("GET", "/result/"+id, 200, js, `{"jobId":"`+id+`","status":"done"}`, "/status")
	f("GET", "/result/"+id, 200, js, `{"jobId":"`+id+`","status":"complete","result":{}}`, "/result")
	f("GET", "/explain/run/"+id, 409, js, `{"error":"x","code":"busy"}`, "/code")
	f("GET", "/openapi.json", 304, "", "", "ETag is missing")
	f("GET", "/openapi.json", 304, js, "{}", "where none is described", set("ETag", `"x"`))

	f("GET", "/nowhere", 404, js, `{"error":"no such path"}`, "")
	f("GET", "/nowhere", 200, js, `{}`, "neither")
	f("DELETE", "/health", 405, js, `{"error":"no"}`, "without Allow")
	f("DELETE", "/health", 405, js, `{"error":"no"}`, "", set("Allow", "GET"))
	f("OPTIONS", "/health", 204, "", "", "")
	f("OPTIONS", "/health", 200, "", "", "preflight")
}

// TestCheckEvents: each frame is held to the schema of its type.
func TestCheckEvents(t *testing.T) {
	d := document(t, false)
	f := func(want string, events ...string) {
		t.Helper()
		stream := ""
		for _, e := range events {
			stream += "data: " + e + "\n\n"
		}
		err := d.Check(Answer{"POST", "/explain", 200, header("text/event-stream; charset=utf-8"), []byte(stream)})
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	head := `"requestId":"` + id + `"`
	f("", `{"type":"preflight_start",`+head+`,"txHash":"0x1"}`, `{"type":"complete",`+head+`}`, `{"type":"report",`+head+`,"html":"<p>"}`)
	f("", `{"type":"preflight_status",`+head+`,"phase":"probe",`+"\ndata: "+`"state":"started"}`)
	f("state", `{"type":"preflight_status",`+head+`,"phase":"probe"}`)
	f("/state", `{"type":"preflight_status",`+head+`,"phase":"probe","state":"over"}`)
	f("requestId", `{"type":"complete"}`)
	f("tool", `{"type":"complete",`+head+`,"tool":"x"}`)
	f("not described", `{"type":"progress",`+head+`}`)
	f("/code", `{"type":"error",`+head+`,"code":"upstream_payment_unavailable","message":"m"}`)
	f("missing properties", `{"type":"result",`+head+`,"txHash":"0x1"}`)
	if err := d.CheckEvents([]byte("event: forged\ndata: {}\n\n")); err == nil {
		t.Error("a foreign field passes")
	}
}

// TestCheckMetered: what a service answers that is paid, and only such a one.
func TestCheckMetered(t *testing.T) {
	paid, free := document(t, true), document(t, false)
	f := func(a Answer, want string) {
		t.Helper()
		err := paid.Check(a)
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	const problem = `{"type":"https://paymentauth.org/problems/payment-required","title":"Payment Required","status":402,"detail":"x"`
	bill := func(method, path string, status int, body string) Answer {
		return Answer{method, path, status, header("application/problem+json"), []byte(body)}
	}
	f(bill("POST", "/explain", 402, problem+`}`), "")
	f(bill("POST", "/explain", 402, problem+`,"challengeId":"x","requiredTopUp":"7"}`), "")
	f(bill("POST", "/explain", 402, problem+`,"requiredTopUp":7}`), "/requiredTopUp")
	f(bill("POST", "/explain", 402, problem+`,"channelId":"0x1"}`), "/channelId")
	f(bill("POST", "/explain", 402, problem+`,"code":"x"}`), "code")
	f(bill("POST", "/explain", 402, `{"error":"x"}`), "missing properties")
	f(bill("HEAD", "/explain", 402, ""), "")
	f(bill("GET", "/result/"+id, 410, problem+`}`), "")
	f(bill("GET", "/explain/run/"+id, 503, problem+`}`), "")
	f(bill("POST", "/explain", 400, problem+`}`), "")
	f(bill("GET", "/health", 402, problem+`}`), "not described")
	f(bill("GET", "/health", 503, problem+`}`), "content type")

	moved := header("")
	moved.Del("Content-Type")
	moved.Set("Payment-Receipt", "x")
	for _, path := range []string{"/explain", "/explain/async", "/result/" + id, "/explain/run/" + id, "/session/deposit"} {
		f(Answer{"POST", path, 204, moved, nil}, "")
		f(Answer{"HEAD", path, 204, moved, nil}, "")
		f(Answer{"POST", path, 204, moved, []byte("x")}, "where none is described")
	}
	f(Answer{"HEAD", "/health", 204, moved, nil}, "not described")
	if err := free.Check(Answer{"POST", "/result/" + id, 204, moved, nil}); err == nil {
		t.Error("a service that charges nothing moves channels")
	}
}

// TestCheckNamedEvents: those of a paid stream have schemas of their own.
func TestCheckNamedEvents(t *testing.T) {
	d := document(t, true)
	f := func(want, stream string) {
		t.Helper()
		if err := d.CheckEvents([]byte(stream)); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	const need = `"requiredCumulative":"2","acceptedCumulative":"1","deposit":"9"}`
	channel := `{"channelId":"0x` + strings.Repeat("0a", 32) + `",`
	f("", "event: payment-need-voucher\ndata: "+channel+need+"\n\n")
	f("/requiredCumulative", "event: payment-need-voucher\ndata: "+channel+`"requiredCumulative":2,"acceptedCumulative":"1","deposit":"9"}`+"\n\n")
	f("extra", "event: payment-need-voucher\ndata: "+channel+`"extra":"x",`+need+"\n\n")
	f("missing properties", "event: payment-receipt\ndata: "+channel+`"spent":"1"}`+"\n\n")
	f("an event begins", "event: payment-refund\ndata: {}\n\n")
	f("an event begins", "event: message\ndata: {\"type\":\"complete\"}\n\n")
	if err := document(t, false).CheckEvents([]byte("event: payment-need-voucher\ndata: " + channel + need + "\n\n")); err == nil {
		t.Error("a stream that nobody pays for asks for a voucher")
	}
}

func TestLoadRefuses(t *testing.T) {
	f := func(body string) {
		t.Helper()
		if _, err := Load([]byte(body)); err == nil {
			t.Errorf("%.60q is loaded", body)
		}
	}
	f(`{`)
	f(`{"openapi":"3.1.0"}`)
	f(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/x":{"get":{"responses":{"200":{}}}}}}`)
	f(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/x/{id}":{"get":{"responses":{"200":{"description":"x"}}}}}}`)
}
