package transport

import (
	"bytes"
	_ "embed"
	"html/template"
	"regexp"
	"sync"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/report"
	"txlens/transport/discovery"
)

//go:embed front.tmpl
var frontSource string

var frontTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("front").Parse(frontSource)) })

// exampleHash is used in the commands if there is no sample.
const exampleHash = "0x1df81f86e2f373abe72e672f1a23615419b073bc61a89c01181f7f7d8092f8ad"

// Content security policies of the two pages: their own style, and on the front page the frame
// of the sample. The report must not run in the origin of the service.
const (
	frontPolicy  = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action "
	samplePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-scripts; script-src "
)

// front answers GET /.
func (s *Server) front(ctx *fasthttp.RequestCtx) {
	page := struct {
		Style   template.CSS
		Base    string
		Hash    string
		Sample  bool // there is a sample
		Chains  int
		Metered bool

		Script   template.JS // of the form; none where analyses are sold
		Runs     bool        // finished runs have pages
		Examples []Example
	}{
		Style: template.CSS(report.Style()), Base: s.baseURL(ctx).String(), Hash: exampleHash, Chains: len(s.cfg.Chains), Metered: s.cfg.Metered,
		Script: template.JS(frontScript), Runs: s.cfg.Runs != nil, Examples: s.cfg.Examples,
	}
	if res, err := s.sample(); err != nil {
		s.cfg.Log.Error("make the sample report", "error", err)
	} else if res != nil {
		page.Hash, page.Sample = string(res.TxHash), true
	}
	var out bytes.Buffer
	if err := frontTemplate().Execute(&out, page); err != nil {
		s.failWith(ctx, err)
		return
	}
	policy := frontPolicy + "'none'"
	if !s.cfg.Metered {
		policy = frontPolicy + "'self'; connect-src 'self'; script-src " + frontScriptHash
	}
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, policy)
	sendHTML(ctx, out.String())
}

// sampleReport answers GET /sample.html.
func (s *Server) sampleReport(ctx *fasthttp.RequestCtx) {
	res, err := s.sample()
	switch {
	case err != nil:
		s.failWith(ctx, err)
		return
	case res == nil:
		fail(ctx, fasthttp.StatusNotFound, "", "this server has no sample report")
		return
	}
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, samplePolicy+report.ScriptSource())
	s.sendReport(ctx, res)
}

// noSample answers if Config.Sample is not set.
func noSample() (*api.Result, error) { return nil, nil }

// plainHost matches a name or address with a port, without characters that are special in a
// shell or a page.
var plainHost = regexp.MustCompile(`^([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// maxHostName is the longest host name (RFC 1035).
const maxHostName = 253

// isPlainHost checks the length separately, because in the expression it would compile to 300
// kilobytes.
func isPlainHost(host []byte) bool {
	m := plainHost.FindSubmatch(host)
	return m != nil && len(m[1]) <= maxHostName
}

// baseURL returns the address of the service as the client sees it, if known, otherwise that
// of the connection.
func (s *Server) baseURL(ctx *fasthttp.RequestCtx) discovery.BaseURL {
	if s.cfg.BaseURL != (discovery.BaseURL{}) {
		return s.cfg.BaseURL
	}
	scheme := "http://"
	if ctx.IsTLS() || string(ctx.Request.Header.Peek(fasthttp.HeaderXForwardedProto)) == "https" {
		scheme = "https://"
	}
	if host := ctx.Host(); isPlainHost(host) {
		if from, err := discovery.ParseBaseURL(scheme + string(host)); err == nil {
			return from
		}
	}
	from, _ := discovery.ParseBaseURL(scheme + ctx.LocalAddr().String())
	return from
}
