package transport

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// watcher detects that a client disconnects while its request is processed. It is the only
// reader of the connection in that time.
type watcher struct {
	conn  net.Conn
	ended atomic.Bool
	clean chan bool // whether the reader read no byte
}

// watch calls gone, at most once, when the client closes the connection or its sending half.
// The read deadline of the request is removed. A client that sends more bytes is no longer
// watched, unless they may be discarded.
func watch(c net.Conn, drain bool, gone func()) *watcher {
	w := &watcher{conn: c, clean: make(chan bool, 1)}
	if c == nil || c.SetReadDeadline(time.Time{}) != nil {
		w.clean <- true
		return w
	}
	go func() {
		var one [1]byte
		n, _ := c.Read(one[:])
		if n > 0 && drain {
			io.Copy(io.Discard, c)
		}
		if (n == 0 || drain) && !w.ended.Load() {
			gone()
		}
		w.clean <- n == 0
	}()
	return w
}

// end stops the watcher and waits for it. It reports whether the connection can carry another
// request: not if the watcher read the first byte of one.
func (w *watcher) end() bool {
	w.ended.Store(true)
	if w.conn != nil {
		w.conn.SetReadDeadline(time.Unix(1, 0))
		defer w.conn.SetReadDeadline(time.Time{})
	}
	return <-w.clean
}
