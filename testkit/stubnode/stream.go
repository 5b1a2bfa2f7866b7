package stubnode

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Streamer picks what writes the result of a call, piece by piece, so that an
// answer of hundreds of megabytes is never held. nil: the method's usual answer.
type Streamer func(params []json.RawMessage) func(io.Writer)

// Stream answers a method, outside of batches, from a Streamer from now on. A
// fault that is set goes first.
func (n *Node) Stream(method string, s Streamer) {
	n.handlersMu.Lock()
	defer n.handlersMu.Unlock()
	if n.streams == nil {
		n.streams = map[string]Streamer{}
	}
	n.streams[method] = s
}

// stream reports whether it has answered.
func (n *Node) stream(w http.ResponseWriter, req request) bool {
	n.handlersMu.Lock()
	s := n.streams[req.Method]
	n.handlersMu.Unlock()
	if s == nil {
		return false
	}
	write := s(req.Params)
	if write == nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":`, req.ID)
	write(out)
	io.WriteString(out, "}")
	out.Flush()
	return true
}
