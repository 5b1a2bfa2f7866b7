package forward

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// bounded returns a listener that accepts no more connections while n are open.
func bounded(ln net.Listener, n int) net.Listener {
	return &boundedListener{Listener: ln, places: make(chan struct{}, n), closed: make(chan struct{})}
}

type boundedListener struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// patience is how long a client may take to read a piece of an answer.
const patience = 30 * time.Second

// patientWriter disconnects a client that does not read.
type patientWriter struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (w patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w patientWriter) Write(b []byte) (int, error) {
	if err := http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}
