package transport

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/report"
	"txlens/transport/wire"
)

// Pages for people. The form of the front page leads to pathFind, which leads to the report
// of a transaction.
const (
	pathFind    = "/tx"
	pathTx      = "/tx/{hash}"
	pathTxOn    = "/tx/{chain}/{hash}"
	pathRunPage = "/run/{requestId}"
	pathExample = "/examples/{name}"
)

// Example is a report that the front page links to.
type Example struct {
	Name   string // last part of its address: lower-case letters, digits and "-"
	Title  string
	Result func() (*api.Result, error) // called once, at the first request
}

//go:embed page.tmpl
var pageSource string

//go:embed front.js
var frontScript string

var (
	pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageSource)) })

	// frontScriptHash allows the script of the front page in its content security policy.
	frontScriptHash = func() string {
		sum := sha256.Sum256([]byte(frontScript))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}()
)

// reportPolicy begins the content security policy of a report, which has no origin. It ends with
// the only script that may run.
const (
	pagePolicy   = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-popups allow-scripts; script-src "
)

// pagePattern returns the pattern of a page below a fixed folder; empty if there is none.
func pagePattern(path []byte) string {
	parts := strings.Split(strings.TrimPrefix(string(path), "/"), "/")
	if len(parts) < 2 || parts[len(parts)-1] == "" {
		return ""
	}
	switch parts[0] + "/" + strconv.Itoa(len(parts)) {
	case "tx/2":
		return pathTx
	case "tx/3":
		return pathTxOn
	case "run/2":
		return pathRunPage
	case "examples/2":
		return pathExample
	}
	return ""
}

// findTx answers GET /tx?hash=TEXT: it leads to the report of the transaction that the text
// names. A client that accepts JSON gets what the text names instead.
func (s *Server) findTx(ctx *fasthttp.RequestCtx) {
	if s.sold() {
		seeOther(ctx, home(ctx))
		return
	}
	ref, err := chain.ParseReference(string(ctx.QueryArgs().Peek("hash")))
	if err != nil {
		s.failPage(ctx, fasthttp.StatusBadRequest, "Enter the hash of a transaction, the address of its page in an explorer, or a signed transaction: "+err.Error()+".")
		return
	}
	found := wire.Found{TxHash: ref.Hash, Page: "tx/" + ref.Hash}
	if ref.Chain != nil {
		found.ChainID, found.Page = ref.Chain.ID, "tx/"+ref.Chain.Slug+"/"+ref.Hash
	}
	if strings.Contains(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)), "application/json") {
		s.sendJSON(ctx, found)
		return
	}
	seeOther(ctx, found.Page)
}

// home returns the address of the front page, relative to that of the request.
func home(ctx *fasthttp.RequestCtx) string {
	return strings.Repeat("../", strings.Count(string(ctx.Path()), "/")-1) + "."
}

// seeOther redirects to an address relative to that of the request, which also holds behind a
// proxy that serves the pages below a folder.
func seeOther(ctx *fasthttp.RequestCtx, to string) {
	ctx.Response.Header.Set(fasthttp.HeaderLocation, to)
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}

// txPage answers GET /tx/{hash} and /tx/{chain}/{hash}: it analyses the transaction and shows
// its report.
func (s *Server) txPage(ctx *fasthttp.RequestCtx) {
	if s.sold() {
		seeOther(ctx, home(ctx))
		return
	}
	parts := strings.Split(strings.TrimPrefix(string(ctx.Path()), "/tx/"), "/")
	ref, err := chain.ParseReference(parts[len(parts)-1])
	if err != nil {
		s.failPage(ctx, fasthttp.StatusNotFound, "The address must end in the hash of a transaction: "+err.Error()+".")
		return
	}
	req := api.Request{TxHash: ref.Hash, Report: true}
	if len(parts) == 2 {
		on, ok := chainNamed(parts[0])
		if !ok {
			s.failPage(ctx, fasthttp.StatusNotFound, "There is no chain "+strconv.Quote(parts[0])+". Leave it out, and the chain is found.")
			return
		}
		req.ChainID = on.ID
	}
	s.explainOnPage(ctx, req)
}

// chainNamed finds a chain by its slug or id.
func chainNamed(name string) (*chain.Chain, bool) {
	if id, err := strconv.ParseUint(name, 10, 64); err == nil {
		return chain.ByID(id)
	}
	return chain.BySlug(name)
}

func (s *Server) explainOnPage(ctx *fasthttp.RequestCtx, req api.Request) {
	defer s.asPage(ctx)
	if err := s.cfg.Explainer.Check(req); err != nil {
		s.failWith(ctx, err)
		return
	}
	if s.answerKept(ctx, &req, false) {
		return
	}
	free, ok := s.enter(ctx)
	if !ok {
		return
	}
	defer free()
	s.block(ctx, RunSpec{ID: idOf(ctx), Request: req, Finish: s.finish})
}

// runPage answers GET /run/{requestId}: the report of a finished run or job.
func (s *Server) runPage(ctx *fasthttp.RequestCtx) {
	if s.sold() {
		seeOther(ctx, home(ctx))
		return
	}
	defer s.asPage(ctx)
	path := string(ctx.Path())
	s.finishedResult(ctx, path[strings.LastIndexByte(path, '/')+1:], func(res *api.Result) { s.sendReport(ctx, res) })
}

// example answers GET /examples/{name}.
func (s *Server) example(ctx *fasthttp.RequestCtx) {
	name := strings.TrimPrefix(string(ctx.Path()), "/examples/")
	made, ok := s.examples[name]
	if !ok {
		s.failPage(ctx, fasthttp.StatusNotFound, "There is no example of that name.")
		return
	}
	defer s.asPage(ctx)
	res, err := made()
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	s.sendReport(ctx, res)
}

func (s *Server) sendReport(ctx *fasthttp.RequestCtx, res *api.Result) {
	var out bytes.Buffer
	if err := report.HTML(&out, res); err != nil {
		s.failWith(ctx, err)
		return
	}
	sendHTML(ctx, out.String())
}

// asPage makes an answer one for a browser: a report gets its policy, an error becomes a page.
func (s *Server) asPage(ctx *fasthttp.RequestCtx) {
	status := ctx.Response.StatusCode()
	if status < 400 {
		ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, reportPolicy+report.ScriptSource())
		return
	}
	var body wire.ErrorBody
	if err := json.Unmarshal(ctx.Response.Body(), &body); err != nil || body.Error == "" {
		body.Error = fasthttp.StatusMessage(status)
	}
	s.failPage(ctx, status, body.Error)
}

// failPage answers with a page that says what went wrong and has the form again.
func (s *Server) failPage(ctx *fasthttp.RequestCtx, status int, text string) {
	page := struct {
		Style template.CSS
		Title string
		Text  string
		Home  string
	}{
		template.CSS(report.Style()), fasthttp.StatusMessage(status), text, home(ctx),
	}
	var out bytes.Buffer
	if err := pageTemplate().Execute(&out, page); err != nil {
		s.failWith(ctx, err)
		return
	}
	ctx.SetStatusCode(status)
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, pagePolicy)
	sendHTML(ctx, out.String())
}
