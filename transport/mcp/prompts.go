package mcp

import (
	"context"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
	"txlens/engine/view"
)

// prompt is one prompt; its text contains the hash once.
type prompt struct{ name, title, doc, text string }

var prompts = []prompt{
	{
		"triage_exploit", "Triage an exploit", "Find out whether a transaction is an attack, what broke, and who lost what.",
		`Triage the transaction %s.
1. Call explain_transaction with this txHash and context "exploit triage".
2. For each finding read the calls it refers to with get_explanation, part calls; read dealings and balances for who gained and lost.
3. Look at frames that failed with part calls and status failed.
4. Report: what rule was broken and where, victims, attackers, amounts, approvals to revoke, and what data is missing to be sure. Say so where the evidence does not decide.`,
	},
	{
		"explain_to_beginner", "Explain to a beginner", "Explain a transaction to somebody who knows little of blockchains.",
		`Explain the transaction %s to somebody who knows little of blockchains.
Call explain_transaction with this txHash. Then say in at most ten plain sentences who did what, what they gave and got, what it cost, and whether there is anything to worry about. Explain each technical word that you cannot avoid. Add nothing that the result does not say.`,
	},
}

func (s *Server) addPrompt(p *prompt) {
	s.sdk.AddPrompt(&sdk.Prompt{
		Name: p.name, Title: p.title, Description: p.doc,
		Arguments: []*sdk.PromptArgument{{Name: "txHash", Description: "the transaction hash", Required: true}},
	}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		doc, err := jsonv2.Marshal(req.Params.Arguments["txHash"])
		if err != nil {
			return nil, err
		}
		ref, err := arguments{"txHash": []byte(doc)}.transaction("txHash")
		if err != nil {
			return nil, err
		}
		return &sdk.GetPromptResult{Description: p.doc, Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf(p.text, ref.Hash)}},
		}}, nil
	})
}

// runURI is the resource URI of a finished run.
const runURI = "txlens://run/"

func (s *Server) addResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "run", Title: "A finished analysis", URITemplate: runURI + "{id}", MIMEType: "application/json",
		Description: "The result of a finished run or job, as the standard view of at most 64 KiB has it.",
	}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimPrefix(req.Params.URI, runURI)
		run, err := s.cfg.Service.Result(ctx, s.callOf(ctx, req.Params.Meta), id)
		if err != nil {
			return nil, s.unreadable(req.Params.URI, err)
		}
		r := &reply{Notice: notice, RunID: id, Result: view.Of(run.Result, api.ViewStandard, more(id))}
		doc, err := jsonv2.Marshal(r, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		content := &sdk.ResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: string(doc)}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
	})
}

// unreadable converts the error of a resource.
func (s *Server) unreadable(uri string, err error) error {
	if _, rerr := s.failure(err); rerr != nil {
		return rerr // a payment is required
	}
	for _, known := range runErrors {
		if strings.Contains(known.text, s.advice(err)) {
			return sdk.ResourceNotFoundError(uri)
		}
	}
	return fmt.Errorf("%s", s.advice(err))
}
