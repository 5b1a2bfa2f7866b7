package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// APIVersion is the version in the OpenAPI description.
const APIVersion = "1.0.0"

// namedEvents is the extension that lists the named events of a stream and their schemas, in
// addition to x-event-schema.
const namedEvents = "x-named-events"

// commonHeaders are the headers of every answer.
var commonHeaders = []string{
	"X-Service-Version",
	"X-Service-Cost-Model",
	"X-Request-Id",
	"Link",
	"Cache-Control",
	"Access-Control-Allow-Origin",
}

// headerTable describes each header that an answer may have.
var headerTable = []struct {
	name, text string
	schema     schema
	required   bool
}{
	{"X-Service-Version", "Version of the interface.", schema{"const": "1", "type": "string"}, true},
	{"X-Service-Cost-Model", "How analyses are paid for, where they are.", schema{"const": "mpp-x402", "type": "string"}, true},
	{"X-Request-Id", "Id of the request, or of the earlier run whose result is the answer (see Age). A run of POST /explain can be recovered under it.", schema{"type": "string", "format": "uuid"}, true},
	{"Link", "Three entries with rel=\"describedby\": /SKILL.md, /openapi.json and /tool-spec.json.", schema{"type": "string"}, true},
	{"Cache-Control", "{cached}.", schema{"type": "string"}, true},
	{
		"Access-Control-Allow-Origin",
		"Pages of any origin may ask: nothing here goes by cookies.",
		schema{"const": "*", "type": "string"},
		true,
	},
	{"ETag", "Changes with the document.", schema{"type": "string"}, true},
	{"Retry-After", "Seconds to wait before asking again.", schema{"type": "string", "pattern": "^[0-9]+$"}, false},
	{"Age", "Seconds since the analysis ended, where the answer is the result of an earlier equal request.", schema{"type": "string", "pattern": "^[0-9]+$"}, false},
	{"Location", "Path of the job.", schema{"type": "string"}, true},
	{
		"WWW-Authenticate",
		"The challenge: `Payment id=\"...\", realm=\"...\", method=\"tempo\", intent=\"session\", request=\"...\"`. A bill (`application/problem+json`) always has it.",
		schema{"type": "string"},
		false,
	},
	{"Payment-Receipt", "What was accepted and spent, base64url of JSON; where something was paid.", schema{"type": "string"}, false},
}

// openAPI makes the description.
func openAPI(cfg Config, all map[string]schema) *openapi31.Spec {
	spec := &openapi31.Spec{Openapi: "3.1.0"}
	spec.Info.WithTitle("Txlens").WithVersion(APIVersion).WithSummary("What did this EVM transaction do?").WithDescription(overview(cfg)).
		WithLicense(*new(openapi31.License).WithName("Apache-2.0").WithIdentifier("Apache-2.0"))
	spec.WithServers(openapi31.Server{URL: basePlaceholder})
	spec.WithTags(
		tag("analysis", "Explain transactions."),
		tag("payment", "Payment channels."),
		tag("service", "The service itself."),
		tag("discovery", "Documents for clients and agents; free."),
	)
	paths := openapi31.Paths{MapOfPathItemValues: map[string]openapi31.PathItem{}}
	for _, op := range operations(cfg.Metered) {
		item := paths.MapOfPathItemValues[op.path]
		if op.method == "post" {
			item.Post = cfg.operation(op)
		} else if op.method == "delete" {
			item.Delete = cfg.operation(op)
		} else {
			item.Get = cfg.operation(op)
		}
		paths.MapOfPathItemValues[op.path] = item
	}
	spec.WithPaths(paths).WithComponents(cfg.components(all)).WithWebhooks(cfg.describeWebhooks())
	spec.WithMapOfAnythingItem("x-service-info", cfg.serviceInfo())
	return spec
}

func tag(name, text string) openapi31.Tag {
	return openapi31.Tag{Name: name, Description: &text}
}

// overview returns the description text of the whole document.
func overview(cfg Config) string {
	text := `Takes the hash of an EVM transaction, finds its chain, and says what the transaction did: one line, ordered steps, class, protocol, risks, balance changes in USD, the decoded call tree.

HEAD is answered wherever GET is. A path or a method that is not listed is answered 404 or 405 with an ErrorBody; 405 has the header Allow. How to pay, how to read partial results and what each code means is said at length in /SKILL.md.`
	if cfg.Metered {
		return text + "\n\nAnalyses are paid for by MPP sessions; there are no accounts and no keys. The runtime 402 is authoritative over what is said here. Under the address of any paid operation a payment channel can be moved without asking for anything: by HEAD with a credential, and by POST without a body."
	}
	if cfg.Keyed {
		text += "\n\nCallers need a key of the operator, which bounds their analyses per minute and at a time."
	}
	return text + "\n\n**This deployment charges nothing**: it asks for no payment and answers no 402. What is said about payment holds where the service is metered; its shapes are the same."
}

func (c Config) components(all map[string]schema) openapi31.Components {
	var out openapi31.Components
	for name, s := range all {
		out.WithSchemasItem(name, s)
	}
	for _, h := range headerTable {
		header := openapi31.Header{Description: &h.text, Schema: h.schema}
		if h.required {
			header.WithRequired(true)
		}
		out.WithHeadersItem(h.name, openapi31.HeaderOrReference{Header: &header})
	}
	for _, list := range [][]answer{commonAnswers, onPaid, withBody, sessions} {
		for _, a := range list {
			if a.plain != "" && !c.Metered {
				continue
			}
			out.WithResponsesItem(a.name, openapi31.ResponseOrReference{Response: c.response(a)})
		}
	}
	scheme := openapi31.SecurityScheme{HTTP: &openapi31.SecuritySchemeHTTP{Scheme: "Payment"}}
	scheme.WithDescription(
		"MPP session (Machine Payments Protocol, method tempo, intent session): the credential answers the challenge of a 402. An MPP client makes it; there is no key to apply for.",
	)
	out.WithSecuritySchemesItem(paymentScheme, openapi31.SecuritySchemeOrReference{SecurityScheme: &scheme})
	if c.Keyed {
		out.WithSecuritySchemesItem(keyScheme, openapi31.SecuritySchemeOrReference{SecurityScheme: bearerScheme()})
	}
	return out
}

func (c Config) operation(op operation) *openapi31.Operation {
	out := new(openapi31.Operation).WithID(op.id).WithSummary(op.summary).WithDescription(op.text).WithTags(op.tag)
	out.WithSecurity(map[string][]string{})
	if op.payment != "" {
		if !op.moves {
			out.WithMapOfAnythingItem("x-payment-info", c.paymentInfo())
		}
		if c.Metered {
			out.Security[0][paymentScheme] = []string{}
		}
	}
	if c.Keyed && !openTags[op.tag] {
		out.Security[0][keyScheme] = []string{}
		op.answers = append(slices.Clone(op.answers), keyRefused)
	}
	out.WithParameters(parameters(op.params)...)
	if op.body != nil {
		body := openapi31.RequestBody{Content: contents([]media{*op.body})}
		body.WithRequired(!op.bodyOptional)
		out.WithRequestBody(openapi31.RequestBodyOrReference{RequestBody: &body})
	}
	var responses openapi31.Responses
	for _, a := range op.answers {
		r := openapi31.ResponseOrReference{Response: c.response(a)}
		name := a.name
		if a.plain != "" && !c.Metered {
			name = a.plain
		}
		if name != "" {
			r = openapi31.ResponseOrReference{Reference: &openapi31.Reference{Ref: "#/components/responses/" + name}}
		}
		responses.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(a.status), r)
	}
	return out.WithResponses(responses)
}

func (c Config) response(a answer) *openapi31.Response {
	out := openapi31.Response{Description: a.text, Content: contents(c.bodies(a))}
	if a.metered && !c.Metered {
		out.Description = strings.TrimSpace("Not answered by this deployment, which charges nothing. " + a.text)
	}
	if a.problem && c.Metered {
		out.Description += "\n\nOr, as application/problem+json: why a payment is refused. Nothing was charged."
	}
	for _, list := range [][]string{commonHeaders, a.headers} {
		for _, name := range list {
			out.WithHeadersItem(name, openapi31.HeaderOrReference{Reference: &openapi31.Reference{Ref: "#/components/headers/" + name}})
		}
	}
	return &out
}

// bodies returns the bodies that this deployment sends: without payment there are no refused
// payments and no voucher events.
func (c Config) bodies(a answer) []media {
	if c.Metered {
		return a.bodies
	}
	var out []media
	for _, m := range a.bodies {
		if a.problem && m.kind == problems.kind {
			continue
		}
		m.extra = maps.Clone(m.extra)
		delete(m.extra, namedEvents)
		out = append(out, m)
	}
	return out
}

func contents(bodies []media) map[string]openapi31.MediaType {
	if len(bodies) == 0 {
		return nil
	}
	out := map[string]openapi31.MediaType{}
	for _, b := range bodies {
		m := openapi31.MediaType{Schema: b.schema, MapOfAnything: b.extra}
		if b.example != nil {
			m.WithExample(b.example)
		}
		out[b.kind] = m
	}
	return out
}

// checkOperations finds faults of the table that types cannot prevent: a duplicate status
// would silently replace another one.
func checkOperations() error {
	for _, op := range operations(true) {
		seen := map[int]bool{}
		for _, a := range op.answers {
			if seen[a.status] {
				return fmt.Errorf("describe %s %s: status %d is there twice", op.method, op.path, a.status)
			}
			seen[a.status] = true
		}
	}
	return nil
}

// parameters returns the parameters of an operation. Path parameters are required.
func parameters(all []parameter) (out []openapi31.ParameterOrReference) {
	for _, from := range all {
		p := openapi31.Parameter{Name: from.name, In: openapi31.ParameterInPath, Description: &from.text, Schema: from.schema}
		if from.schema == nil {
			p.Schema = schema{"type": "string", "format": "uuid"}
		}
		if from.query {
			p.In = openapi31.ParameterInQuery
		} else {
			p.WithRequired(true)
		}
		out = append(out, openapi31.ParameterOrReference{Parameter: &p})
	}
	return out
}
