package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stdioClient is the other side of a Stdio connection.
type stdioClient struct {
	t    *testing.T
	conn *stdioConn
	in   *io.PipeWriter
	out  *bufio.Scanner
}

func connectStdio(t *testing.T) *stdioClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	conn, err := (&Stdio{In: inR, Out: outW}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(outR)
	out.Buffer(nil, 1<<20)
	t.Cleanup(func() {
		conn.Close()
		inW.Close()
		outW.Close()
	})
	return &stdioClient{t, conn.(*stdioConn), inW, out}
}

const initialize2025 = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// TestStdioLines: a line that is no message is answered with an error, and those after it are
// read. Blanks, a byte order mark and any end of line stand around messages.
func TestStdioLines(t *testing.T) {
	f := func(version, line string, wantCode int, wantID string, wantIDs ...string) {
		t.Helper()
		c := connectStdio(t)
		go func() {
			io.WriteString(c.in, strings.Replace(initialize2025, "2025-11-25", version, 1)+"\n"+line+"\n"+`{"jsonrpc":"2.0","id":"last","method":"ping"}`+"\n")
		}()
		refused := make(chan string, 1)
		if wantCode != 0 {
			go func() {
				c.out.Scan()
				refused <- c.out.Text()
			}()
		}
		var ids []string
		for len(ids) == 0 || ids[len(ids)-1] != "last" {
			msg, err := c.conn.Read(t.Context())
			if err != nil {
				t.Fatalf("%.60q: %v", line, err)
			}
			req, ok := msg.(*jsonrpc.Request)
			if !ok {
				ids = append(ids, "response")
				continue
			}
			id, _ := req.ID.Raw().(string) // "": that of initialize, or none
			ids = append(ids, id)
		}
		if got := strings.Join(ids[1:len(ids)-1], " "); got != strings.Join(wantIDs, " ") {
			t.Errorf("%.60q: read %q, want %q", line, got, wantIDs)
		}
		if wantCode == 0 {
			return
		}
		var answer struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   struct {
				Code    int
				Message string
			}
		}
		text := <-refused
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Version != "2.0" || string(answer.ID) != wantID ||
			answer.Error.Code != wantCode || answer.Error.Message == "" {
			t.Errorf("%.60q: answered %s, want code %d, id %s", line, text, wantCode, wantID)
		}
	}
	const now, old = "2025-11-25", "2025-03-26"
	ping := `{"jsonrpc":"2.0","id":"a","method":"ping"}`
	f(now, ping, 0, "", "a")
	f(now, ping+" \t", 0, "", "a")
	f(now, ping+"\r", 0, "", "a")
	f(now, "\ufeff"+ping, 0, "", "a")
	f(now, "  "+ping, 0, "", "a")
	f(now, "", 0, "")
	f(now, "\r\n\n ", 0, "")
	f(now, "hello", -32700, "null")
	f(now, `{"jsonrpc":"2.0","id":"a","method":"pi`, -32700, "null")
	f(now, ping+ping, -32700, "null")
	f(now, "\xff\xfe", -32700, "null")
	f(now, `{}`, -32600, "null")
	f(now, `7`, -32600, "null")
	f(now, `null`, -32600, "null")
	f(now, `{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600, "7")
	f(now, `{"jsonrpc":"2.0","id":"x","method":7}`, -32600, `"x"`)
	f(now, `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, "null")
	f(now, "["+ping+"]", -32600, "null")
	f(now, `"`+strings.Repeat("x", maxLine)+`"`, -32600, "null")
	f(old, "["+ping+`,{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`, 0, "", "a", "", "b")
	f(now, `{"jsonrpc":"2.0","id":"b"}`, 0, "", "response") // of no request; the protocol leaves it
	f(old, "["+ping+`,{"jsonrpc":"2.0","id":"b","method":7}]`, -32600, `"b"`, "a")
	f(old, "[]", -32600, "null")
}

// TestStdioAnswersAll: the end of input waits for the answers to all requests that were sent
// before it, but not for those that the client canceled.
func TestStdioAnswersAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := strings.NewReader(initialize2025 + "\n" +
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" +
			`{"jsonrpc":"2.0","id":"b","method":"tools/list"}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"method":"tools/call"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`) // no end of line
		conn, err := (&Stdio{In: in, Out: io.Discard}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var ids []jsonrpc.ID
		for range 5 {
			msg, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, msg.(*jsonrpc.Request).ID)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Read(t.Context())
			ended <- err
		}()
		for _, id := range ids[:3] {
			synctest.Wait()
			select {
			case err := <-ended:
				t.Fatalf("it ended before request %v was answered: %v", id.Raw(), err)
			default:
			}
			if err := conn.Write(t.Context(), &jsonrpc.Response{ID: id, Result: json.RawMessage(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != io.EOF {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestStdioEnds: a read ends with its context and with the connection, also when answers are
// awaited at the end of input.
func TestStdioEnds(t *testing.T) {
	f := func(input string, end func(cancel func(), c io.Closer), want error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			inR, inW := io.Pipe()
			conn, err := (&Stdio{In: io.MultiReader(strings.NewReader(input), inR), Out: io.Discard}).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			defer inW.Close()
			if input != "" {
				if _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				inW.Close()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := conn.Read(ctx)
				ended <- err
			}()
			synctest.Wait()
			end(cancel, conn)
			if err := <-ended; !errors.Is(err, want) {
				t.Errorf("%q: ended with %v, want %v", input, err, want)
			}
		})
	}
	cancel := func(cancel func(), _ io.Closer) { cancel() }
	closing := func(_ func(), c io.Closer) { c.Close() }
	f("", cancel, context.Canceled)
	f("", closing, io.EOF)
	f(initialize2025+"\n", cancel, io.EOF)
	f(initialize2025+"\n", closing, io.EOF)
}
