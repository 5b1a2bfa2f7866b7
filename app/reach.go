package app

import (
	"context"
	"fmt"
	"strings"

	"txlens/transport/admin"
)

// maxNamed bounds the chains that one warning names.
const maxNamed = 20

// watchUpstream lets the server find out by itself whether it reaches any chain, before
// somebody asks for an analysis. Nobody pays for what it asks.
func (s *Server) watchUpstream() {
	if s.o.Explain != nil { // the endpoints are not used
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.unwatch = func() { cancel(); <-ended }
	said := false
	go func() {
		defer close(ended)
		s.analyst.client.Watch(ctx, func(err error) {
			switch {
			case err == nil && said:
				s.o.Log.Info("an endpoint answers now")
			case err != nil && !said:
				said = true
				s.o.Log.Warn("no endpoint answers; the server is not ready until one does", "error", err)
			}
		})
	}()
}

// reachable returns an error until some endpoint has answered.
func (s *Server) reachable() error {
	if s.o.Explain != nil {
		return nil
	}
	return s.analyst.client.Ready()
}

// chainsDown names the chains whose endpoints all fail. The others are served, so the server
// stays ready.
func (s *Server) chainsDown() error {
	var down []string
	for _, ch := range s.analyst.client.Chains() {
		if ch.Down {
			down = append(down, ch.Slug)
		}
	}
	if len(down) == 0 {
		return nil
	}
	more := ""
	if n := len(down) - maxNamed; n > 0 {
		down, more = down[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("all endpoints fail for %s%s", strings.Join(down, ", "), more)
}

// chainUsage is what the metrics tell of the chains that were asked.
func (s *Server) chainUsage() (out []admin.ChainUsage) {
	for _, ch := range s.analyst.client.Chains() {
		out = append(out, admin.ChainUsage{Chain: ch.Slug, Up: !ch.Down, Requests: ch.Requests})
	}
	return out
}
