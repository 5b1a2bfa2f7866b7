package discovery

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"txlens/engine/api"
)

//go:embed *.tmpl
var templates embed.FS

// mediaType returns a content type without its parameters.
func mediaType(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return kind
}

// texts are the templates and their functions. They are parsed when the first document is
// made.
var texts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"dollars": dollars,
		"upper":   strings.ToUpper,
		"cell":    func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n\n", " ") },
		"where":   where,
		"amount":  amountOf,
		"span":    formatDuration,
		"nano":    api.NanoDollars,
	}).ParseFS(templates, "*.tmpl"))
})

// page is the data of the templates.
type page struct {
	Config
	Base       string
	Example    string // hash of a transaction
	Models     []api.Model
	Codes      []api.ErrorCode
	Operations []opText
	Schemas    []schemaText
	Documents  []docText
	Skill      string
	HashForm   string
	ContextMax int
}

type (
	docText struct{ Path, About string }
	opText  struct {
		Method, Path, Payment, Summary, Text string
		Answers                              []answerText
	}
	answerText struct {
		Status int
		Bodies string
		Text   string
	}
	schemaText struct {
		Name, Text, Form string
		Members          []memberText
	}
	memberText struct {
		Name, Form, Text string
		Optional         bool
	}
)

func newPage(cfg Config, all map[string]schema) page {
	p := page{
		Config: cfg, Base: basePlaceholder, Example: exampleHash, Models: api.Models(), Codes: api.ErrorCodes(),
		HashForm: api.HashPattern, ContextMax: api.MaxContext,
		Schemas: schemaTexts(all),
	}
	for _, d := range documentTable {
		p.Documents = append(p.Documents, docText{d.path, d.about})
	}
	for _, op := range operations(cfg.Metered) {
		o := opText{strings.ToUpper(op.method), op.path, op.payment, op.summary, op.text, nil}
		for _, a := range op.answers {
			var bodies []string
			for _, b := range cfg.bodies(a) {
				bodies = append(bodies, formOfBody(b))
			}
			o.Answers = append(o.Answers, answerText{a.status, strings.Join(bodies, "; "), a.text})
		}
		slices.SortFunc(o.Answers, func(x, y answerText) int { return x.Status - y.Status })
		p.Operations = append(p.Operations, o)
	}
	return p
}

func formOfBody(m media) string {
	if f := schemaForm(m.schema); strings.HasPrefix(m.kind, "application/") && f != "object" {
		return m.kind + ": " + f
	}
	return m.kind
}

// where lists the places where a code can occur.
func where(c api.ErrorCode) string {
	var places []string
	if c.Status != 0 {
		places = append(places, fmt.Sprintf("status %d", c.Status))
	}
	if c.Event {
		places = append(places, "error event")
	}
	if c.Job {
		places = append(places, "errorCode of a job")
	}
	return strings.Join(places, ", ")
}

func schemaTexts(all map[string]schema) []schemaText {
	var out []schemaText
	for name, s := range all {
		t := schemaText{Name: name, Text: text(s), Form: schemaForm(s)}
		required, _ := s["required"].([]any)
		if list, ok := s["required"].([]string); ok {
			required = anys(list)
		}
		members, _ := s["properties"].(schema)
		for m, v := range members {
			t.Members = append(t.Members, memberText{m, schemaForm(v.(schema)), text(v.(schema)), !slices.Contains(required, any(m))})
		}
		slices.SortFunc(t.Members, func(x, y memberText) int { return strings.Compare(x.Name, y.Name) })
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y schemaText) int { return strings.Compare(x.Name, y.Name) })
	return out
}

func text(s schema) string { t, _ := s["description"].(string); return t }

// schemaForm describes a schema in a few words: string, integer or null, [TraceNode] ...
func schemaForm(s schema) string {
	if r, ok := s["$ref"].(string); ok {
		return strings.TrimPrefix(r, componentPrefix)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok {
			var names []string
			for _, v := range list {
				names = append(names, schemaForm(v.(schema)))
			}
			return strings.Join(names, " or ")
		}
	}
	if c, ok := s["const"]; ok {
		return fmt.Sprintf("always %v", c)
	}
	if list, ok := s["enum"].([]any); ok {
		var names []string
		for _, v := range list {
			names = append(names, fmt.Sprint(v))
		}
		return "one of " + strings.Join(names, ", ")
	}
	if items, ok := s["items"].(schema); ok {
		return "array of " + schemaForm(items)
	}
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, v := range t {
			names = append(names, fmt.Sprint(v))
		}
		slices.SortStableFunc(names, func(a, b string) int { return boolInt(a == "null") - boolInt(b == "null") })
		return strings.Join(names, " or ")
	}
	return "any"
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func render(name string, p page) ([]byte, error) {
	var out bytes.Buffer
	if err := texts().ExecuteTemplate(&out, name, p); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func makeSkill(cfg Config, all map[string]schema) ([]byte, error) {
	return render("skill.md.tmpl", newPage(cfg, all))
}

func makeIndex(cfg Config, all map[string]schema) ([]byte, error) {
	return render("llms.txt.tmpl", newPage(cfg, all))
}

// makeFull returns the skill without its front matter, followed by everything else.
func makeFull(cfg Config, all map[string]schema) ([]byte, error) {
	p := newPage(cfg, all)
	skill, err := makeSkill(cfg, all)
	if err != nil {
		return nil, err
	}
	_, p.Skill, _ = strings.Cut(strings.TrimPrefix(string(skill), "---\n"), "---\n")
	return render("llms-full.txt.tmpl", p)
}
