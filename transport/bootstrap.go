package transport

import (
	"context"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/mpp"
)

// acceptsProof is the token in Accept-Payment by which a client asks for a challenge that a
// proof of its account answers.
const acceptsProof = mpp.Method + "/" + mpp.IntentCharge

// bootstrap answers a HEAD request of a client that lost the state of its channel: first with
// a challenge to prove its account, then with a snapshot of a channel that it can continue
// with. answered is false for any other request. cr may be nil.
func (s *Server) bootstrap(ctx *fasthttp.RequestCtx, route *mpp.Route, cr *mpp.Credential) (answered bool) {
	asks := false
	for _, line := range ctx.Request.Header.PeekAll(mpp.HeaderAccept) {
		for word := range strings.SplitSeq(string(line), ",") {
			name, _, _ := strings.Cut(word, ";")
			asks = asks || strings.TrimSpace(name) == acceptsProof
		}
	}
	switch {
	case !ctx.IsHead() || cr == nil && !asks || cr != nil && !cr.IsProof():
		return false
	case cr == nil:
		s.demandProof(ctx, route)
		return true
	}
	account, err := s.cfg.Payments.Issuer.VerifyProof(cr, route, time.Now())
	if err != nil {
		s.refuse(ctx, route, err)
		return true
	}
	work, cancel := context.WithTimeout(s.base, payTimeout)
	defer cancel()
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	snap := s.cfg.Payments.Snapshots.SnapshotOf(work, account)
	if snap == nil {
		return true
	}
	value, err := snap.HeaderValue()
	if err != nil {
		s.cfg.Log.Error("write a snapshot", "request", idOf(ctx), "error", err)
		return true
	}
	ctx.Response.Header.Set(mpp.HeaderSession, snap.ChannelID.Hex())
	ctx.Response.Header.Set(mpp.HeaderSnapshot, value)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store, private")
	return true
}

// demandProof answers 402 with a challenge to prove an account.
func (s *Server) demandProof(ctx *fasthttp.RequestCtx, route *mpp.Route) {
	p := &mpp.Problem{Type: mpp.PaymentRequired, Detail: "Prove the account: answer the challenge in WWW-Authenticate. It costs nothing."}
	ch, err := s.cfg.Payments.Issuer.IssueProof(route, time.Now().Add(mpp.ChallengeLifetime))
	value := ""
	if err == nil {
		value, err = ch.HeaderValue()
	}
	if err != nil {
		s.refuse(ctx, route, err)
		return
	}
	ctx.Response.Header.Set(mpp.HeaderChallenge, value)
	ctx.SetStatusCode(fasthttp.StatusPaymentRequired)
	ctx.SetContentType(mpp.ProblemMedia)
	ctx.Response.SetBodyRaw(p.WithChallenge(ch.ID).Document())
}
