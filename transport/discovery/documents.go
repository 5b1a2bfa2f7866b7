package discovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// base stands for the base URL while the documents are made. The top-level domain
// invalid belongs to nobody (RFC 2606).
const base = "https://base.invalid"

// documentTable lists the documents.
var documentTable = []struct{ path, operation, kind, about string }{
	{"/openapi.json", "getOpenApi", "application/json", "This description (OpenAPI 3.1)"},
	{
		"/tool-spec.json",
		"getToolSpec",
		"application/json",
		"Schemas of three tools, for the tool use of two vendors of language models; `defaultModel` is the model in force",
	},
	{"/SKILL.md", "getSkill", "text/markdown; charset=utf-8", "Instructions for an agent: how to ask, to pay, and to read the answers"},
	{"/llms.txt", "getLlmsIndex", "text/plain; charset=utf-8", "Index of the documents"},
	{"/llms-full.txt", "getLlmsFull", "text/plain; charset=utf-8", "The whole documentation in one file"},
}

// makers make the documents of documentTable, with base in them.
func makers() map[string]func(Config, map[string]schema) ([]byte, error) {
	return map[string]func(Config, map[string]schema) ([]byte, error){
		"/openapi.json": makeOpenAPI, "/tool-spec.json": makeToolSpec, "/SKILL.md": makeSkill, "/llms.txt": makeIndex, "/llms-full.txt": makeFull,
	}
}

// Document is one of the documents, for one base URL.
type Document struct {
	ContentType string
	ETag        string // strong, with its quotes
	Body        []byte // must not be changed
}

// Set is the documents of one deployment. It is safe for concurrent use.
type Set struct {
	made   map[string]Document // by path; with the configured base URL, or still with base
	masked bool                // base is still in them
}

// Paths lists where the documents are.
func Paths() []string {
	var out []string
	for _, d := range documentTable {
		out = append(out, d.path)
	}
	return out
}

// New makes the documents. Its errors are faults of the tables in this package,
// which tests find, and none of cfg.
func New(cfg Config) (*Set, error) {
	if cfg.Terms == (Terms{}) {
		cfg.Terms = DefaultTerms
	}
	if cfg.Model == "" {
		cfg.Model = api.DefaultModel
	}
	if err := checkOperations(); err != nil {
		return nil, err
	}
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	facts := cfg.facts()
	s := &Set{made: map[string]Document{}, masked: cfg.BaseURL.s == ""}
	for _, d := range documentTable {
		body, err := makers()[d.path](cfg, all)
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", d.path, err)
		}
		body = []byte(facts.Replace(string(body)))
		if !s.masked {
			body = bytes.ReplaceAll(body, []byte(base), []byte(cfg.BaseURL.s))
		}
		s.made[d.path] = Document{d.kind, tagOf(body), body}
	}
	return s, nil
}

// NeedsBase reports whether At wants the base URL of the request. No cache may keep
// such a document: whoever sends another Host gets another one.
func (s *Set) NeedsBase() bool { return s.masked }

// At returns the document at path; from is where the service is reached, which
// counts only where NeedsBase.
func (s *Set) At(path string, from BaseURL) (Document, bool) {
	d, ok := s.made[path]
	if ok && s.masked {
		d.Body = bytes.ReplaceAll(d.Body, []byte(base), []byte(from.s))
		d.ETag = tagOf([]byte(d.ETag + from.s)) // the two together decide the body
	}
	return d, ok
}

func tagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

func makeOpenAPI(cfg Config, all map[string]schema) ([]byte, error) {
	raw, err := openAPI(cfg, all).MarshalJSON()
	if err != nil {
		return nil, err
	}
	return canonical(raw)
}

// canonical brings JSON into one form: the library writes extensions in the order
// of a map.
func canonical(raw []byte) ([]byte, error) {
	v := jsontext.Value(raw)
	if err := v.Format(jsontext.ReorderRawObjects(true), jsontext.EscapeForHTML(false)); err != nil {
		return nil, err
	}
	return append(v, '\n'), nil
}

func marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v, json.Deterministic(true))
	return append(raw, '\n'), err
}
