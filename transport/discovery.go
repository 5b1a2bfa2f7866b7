package transport

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"txlens/actors/job"
	"txlens/engine/meter"
	"txlens/transport/discovery"
	"txlens/transport/wire"
)

// cacheTime is how long caches may keep the documents, if BaseURL is set.
const cacheTime = "public, max-age=300"

// described returns the description of this server for the documents.
func (c Config) described() discovery.Config {
	return discovery.Config{
		BaseURL: c.BaseURL, Metered: c.Metered, Keyed: c.Keys != nil, Terms: c.terms(), Chains: c.Chains, Model: c.Model, ModelBudget: c.ModelBudget,
		Currencies: c.otherCurrencies(),
		Limits:     discovery.Limits{Body: maxBody, Head: maxHead, Deadline: c.Deadline, Heartbeat: c.Heartbeat, RunRecord: job.MaxRunBytes},
	}
}

// terms returns the terms that the handlers enforce and the challenges offer. A server that
// sells nothing documents the terms of the interface.
func (c Config) terms() discovery.Terms {
	p := c.Payments
	if p.Payer == nil {
		return discovery.DefaultTerms
	}
	suggested, _ := p.Request.SuggestedDeposit.Uint64()
	minimum, _ := p.MinDeposit.Uint64()
	return discovery.Terms{
		ChainID: p.Request.ChainID, Currency: p.Request.Currency.Hex(), Unit: meter.Cent,
		SuggestedDeposit: suggested, MinimumDeposit: minimum, Exposure: p.Seller.Exposure(),
		VoucherPatience: p.Seller.Patience(), JobPatience: p.Seller.JobPatience(),
	}
}

// otherCurrencies returns the tokens that are taken besides that of the terms.
func (c Config) otherCurrencies() (list []string) {
	for _, token := range c.Payments.Currencies {
		list = append(list, token.Hex())
	}
	return list
}

// document answers GET of a discovery document.
func (s *Server) document(ctx *fasthttp.RequestCtx) {
	set, err := s.documents()
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	d, _ := set.At(string(ctx.Path()), s.baseURL(ctx)) // the routes are those of the set
	h := &ctx.Response.Header
	if !set.NeedsBase() { // otherwise it contains the Host of the client, and stays no-store
		h.Set(fasthttp.HeaderCacheControl, cacheTime)
	}
	h.Set(fasthttp.HeaderETag, d.ETag)
	if matches(ctx.Request.Header.PeekAll(fasthttp.HeaderIfNoneMatch), d.ETag) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(d.ContentType)
	ctx.Response.SetBodyRaw(d.Body)
}

// matches reports whether If-None-Match has the tag. The weak comparison treats W/"x" and "x"
// as equal (RFC 9110, 13.1.2).
func matches(fields [][]byte, tag string) bool {
	for _, field := range fields {
		for item := range strings.SplitSeq(string(field), ",") {
			item = strings.TrimSpace(item)
			if item == "*" || strings.TrimPrefix(item, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// deposit answers POST /session/deposit of a service that charges nothing, for clients that
// open a channel first.
func (s *Server) deposit(ctx *fasthttp.RequestCtx) {
	body := bytes.TrimSpace(ctx.PostBody())
	if len(body) > 0 {
		if !isJSON(ctx.Request.Header.ContentType()) {
			fail(ctx, fasthttp.StatusUnsupportedMediaType, "", "Content-Type: must be application/json")
			return
		}
		if inner, ok := bytes.CutPrefix(body, []byte("{")); !ok || !bytes.Equal(bytes.TrimSpace(inner), []byte("}")) {
			fail(ctx, fasthttp.StatusBadRequest, "", "the body must be empty or {}: the parameters of a channel come from its challenge")
			return
		}
	}
	if s.sold() {
		s.depositPaid(ctx)
		return
	}
	s.sendJSON(ctx, wire.DepositOK{OK: true})
}
