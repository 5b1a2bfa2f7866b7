package transport

import (
	"bytes"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"txlens/transport/discovery"
)

// A server on loopback belongs to the person at the machine, and any page that a browser there
// shows can reach it. Such a page must not start analyses, which cost calls to nodes and
// perhaps a model, and must not read results. A server that sells is left out: there every
// analysis is paid by the one who asks.

// admitsOrigin refuses requests that a page of another site caused, on a server of this
// machine. If it returns false the error has been answered.
func (s *Server) admitsOrigin(ctx *fasthttp.RequestCtx) bool {
	if s.sold() {
		return true
	}
	host, h := ctx.Host(), &ctx.Request.Header // strings of it only where a browser asks
	here := loopbackHost(host)
	public := !here && string(host) == s.publicHost
	if !here && (public || !s.onLoopback.Load()) {
		return true
	}
	site, origin := string(h.Peek("Sec-Fetch-Site")), string(h.Peek(fasthttp.HeaderOrigin))
	if site != "" || origin != "" {
		ctx.Response.Header.Del(fasthttp.HeaderAccessControlAllowOrigin)
		ctx.Response.Header.Del(fasthttp.HeaderAccessControlExposeHeaders)
	}
	switch {
	case !here: // a name of another site that points to this machine
		fail(ctx, fasthttp.StatusForbidden, "",
			"this server is on loopback and answers to localhost, 127.0.0.1, [::1] and the host of --base-url")
	case foreign(site, origin, string(host)) && !(navigates(ctx) && !startsAnalysis(ctx.Path())):
		s.refuseForeign(ctx)
	case site != "" && site != "same-origin" && startsAnalysis(ctx.Path()) && !navigates(ctx):
		s.refuseForeign(ctx)
	default:
		return true
	}
	return false
}

func (s *Server) refuseForeign(ctx *fasthttp.RequestCtx) {
	const text = "a page of another site asked this server, which is on loopback and answers to its own pages"
	if navigates(ctx) {
		s.failPage(ctx, fasthttp.StatusForbidden, "A page of another site asked for this analysis. To start it yourself, enter the hash here.")
		return
	}
	fail(ctx, fasthttp.StatusForbidden, "", text)
}

// foreign reports whether a page of another origin caused a request. Clients other than
// browsers send neither header; a browser that does not know Sec-Fetch-Site sends Origin with
// what could start something. A page on another port of this machine is foreign too.
func foreign(site, origin, host string) bool {
	switch site {
	case "same-origin", "none":
		return false
	case "":
		return origin != "" && origin != "http://"+host && origin != "https://"+host
	}
	return true
}

// navigates reports whether a browser shows the answer as a document.
func navigates(ctx *fasthttp.RequestCtx) bool {
	return (ctx.IsGet() || ctx.IsHead()) && string(ctx.Request.Header.Peek("Sec-Fetch-Mode")) == "navigate"
}

// startsAnalysis reports whether GET of a path runs an analysis, or leads to where it does.
func startsAnalysis(path []byte) bool {
	pattern, _ := lookUp(path)
	return pattern == pathTx || pattern == pathTxOn || pattern == pathFind
}

// loopbackHost reports whether a Host header names this machine. 0.0.0.0 does not: browsers
// do not send Sec-Fetch-Site there.
func loopbackHost(header []byte) bool {
	if port, ok := bytes.CutPrefix(header, []byte("localhost")); ok {
		return len(port) == 0 || port[0] == ':' && !bytes.ContainsAny(port[1:], ":[]")
	}
	if len(header) == 0 || !strings.ContainsRune("01:[]", rune(header[0])) { // no other begins an address of loopback
		return false
	}
	host := string(header)
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// hostOf returns the host of the public address, with its port; empty if none is set.
func hostOf(base discovery.BaseURL) string {
	u, err := url.Parse(base.String())
	if err != nil {
		return ""
	}
	return u.Host
}

// onLoopback reports whether a listener can be reached from this machine only.
func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
