package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
)

// maxLine is the largest length of one message on a stream in bytes.
const maxLine = 4 << 20

// batchesUntil is the first version of the protocol without JSON-RPC batches.
const batchesUntil = "2025-06-18"

// Stdio is the stdio transport of the protocol: one message per line (2025-11-25,
// basic/transports). The one of the SDK ends the server at the first line that is no message,
// and forgets requests under way at the end of input. This one answers such a line with an
// error, and ends when all requests are answered. It connects once.
type Stdio struct {
	In  io.Reader
	Out io.Writer
}

// Connect implements sdk.Transport. Its reader lives until In ends or fails: a read of stdin
// cannot be interrupted.
func (t *Stdio) Connect(context.Context) (sdk.Connection, error) {
	c := &stdioConn{out: t.Out, lines: make(chan inputLine), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}}
	c.answered = sync.NewCond(&c.mu)
	go c.scan(bufio.NewReaderSize(t.In, 64<<10))
	return c, nil
}

// inputLine is one line of input, or how it ended.
type inputLine struct {
	text []byte
	err  error
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

type stdioConn struct {
	lines     chan inputLine
	closed    chan struct{}
	closeOnce sync.Once
	queue     []jsonrpc.Message // of a batch; only Read uses it
	version   string            // that the client asked for; only Read uses it

	mu       sync.Mutex // for what follows, and to write one line at a time
	out      io.Writer
	open     map[jsonrpc.ID]bool // requests without an answer
	answered *sync.Cond          // open changed, or the connection was closed
}

// SessionID implements sdk.Connection.
func (c *stdioConn) SessionID() string { return "" }

// scan sends lines without their end until input ends.
func (c *stdioConn) scan(in *bufio.Reader) {
	for {
		line := readLine(in)
		select {
		case c.lines <- line:
		case <-c.closed:
			return
		}
		if line.err != nil && line.err != errLongLine {
			return
		}
	}
}

// readLine reads one line; of one that is too long it keeps nothing.
func readLine(in *bufio.Reader) (line inputLine) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line.text)+len(part) > maxLine {
			line.text, line.err = nil, errLongLine
		}
		if line.err == nil {
			line.text = append(line.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(line.text) > 0: // the last line may lack its end
			return line
		case err != nil && line.err == nil:
			return inputLine{err: err}
		default:
			return line
		}
	}
}

// Read implements sdk.Connection.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			return next, nil
		}
		var line inputLine
		select {
		case line = <-c.lines:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
		if line.err != nil && line.err != errLongLine {
			c.awaitAnswers(ctx)
			return nil, line.err
		}
		if err := c.take(line); err != nil {
			return nil, err
		}
	}
}

// take queues the messages of a line, and answers what is none with an error. The error is that
// of writing.
func (c *stdioConn) take(line inputLine) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(line.text, []byte(api.ByteOrderMark)))
	switch {
	case line.err != nil:
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, line.err.Error())
	case len(text) == 0:
		return nil
	case !json.Valid(text):
		return c.refuse(nil, jsonrpc.CodeParseError, "the line is not valid JSON; send one message per line")
	case text[0] != '[':
		return c.takeMessage(text)
	case c.version == "" || c.version >= batchesUntil:
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not part of this version of the protocol; send one message per line")
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(text, &batch); err != nil || len(batch) == 0 {
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
	}
	for _, one := range batch {
		if err := c.takeMessage(one); err != nil {
			return err
		}
	}
	return nil
}

func (c *stdioConn) takeMessage(text []byte) error {
	msg, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return c.refuse(text, jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC 2.0 message: "+api.OneLine(err.Error(), 200))
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		c.note(req)
	}
	c.queue = append(c.queue, msg)
	return nil
}

// note keeps what a request changes: it is to be answered, or its answer is no longer wanted.
func (c *stdioConn) note(req *jsonrpc.Request) {
	switch {
	case req.ID.IsValid():
		c.mu.Lock()
		c.open[req.ID] = true
		c.mu.Unlock()
	case req.Method == "notifications/cancelled":
		var p struct {
			RequestID any `json:"requestId"`
		}
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return
		}
		if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
			c.settle(id)
		}
	}
	if req.Method == "initialize" {
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if json.Unmarshal(req.Params, &p) == nil {
			c.version = strings.Clone(p.ProtocolVersion)
		}
	}
}

func (c *stdioConn) settle(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.open, id)
	c.mu.Unlock()
	c.answered.Broadcast()
}

// awaitAnswers returns when all requests are answered, ctx ends or the connection is closed.
func (c *stdioConn) awaitAnswers(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.wake)
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 && ctx.Err() == nil && !c.isClosed() {
		c.answered.Wait()
	}
}

func (c *stdioConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// refuse answers what is no message. The id is that of the text if it has one, else null.
func (c *stdioConn) refuse(text []byte, code int64, reason string) error {
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", json.RawMessage("null"), jsonrpc.Error{Code: code, Message: reason}}
	var given struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(text, &given) == nil && given.ID != nil {
		if id, err := jsonrpc.MakeID(given.ID); err == nil && id.IsValid() {
			answer.ID, _ = json.Marshal(given.ID) // it was decoded from JSON
		}
	}
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.out.Write(append(line, '\n'))
	return err
}

// Write implements sdk.Connection.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	c.mu.Lock()
	_, err = c.out.Write(append(line, '\n'))
	c.mu.Unlock()
	if resp, ok := msg.(*jsonrpc.Response); ok {
		c.settle(resp.ID)
	}
	return err
}

// Close implements sdk.Connection.
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	c.wake()
	return nil
}

// wake has awaitAnswers look again; the lock keeps it from waiting on what it has not seen.
func (c *stdioConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered.Broadcast()
}
