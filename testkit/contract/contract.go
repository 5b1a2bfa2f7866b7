// Package contract holds the service to its own description: it checks what a
// server answered against an OpenAPI 3.1 document. Tests use it; the product does
// not. The document is read by one independent library (kin-openapi) and bodies
// are checked by another (a JSON Schema 2020-12 validator), and more strictly than
// the document asks for: a member that is not in it is a fault, so that nothing is
// ever sent that nobody described.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI document that answers are checked against. It is safe for
// concurrent use.
type Document struct {
	doc *openapi3.T

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by JSON pointer
	named    map[string]string             // schemas of the events that have a name, by it
}

// Answer is what came back for a request. The path is without query.
type Answer struct {
	Method, Path string
	Status       int
	Header       http.Header
	Body         []byte
}

const resource = "openapi.json"

// Load reads a document and checks that it is a valid OpenAPI document.
func Load(body []byte) (*Document, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(body)
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI document: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("validate OpenAPI document: %w", err)
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	closeObjects(raw)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(resource, raw); err != nil {
		return nil, fmt.Errorf("add OpenAPI document: %w", err)
	}
	return &Document{doc: doc, compiler: c, compiled: map[string]*jsonschema.Schema{}, named: namedEvents(doc)}, nil
}

// namedEvents are what the streams of the document have beside their plain events,
// as its extension x-named-events says.
func namedEvents(doc *openapi3.T) map[string]string {
	out := map[string]string{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, r := range op.Responses.Map() {
				stream := r.Value.Content[eventStream]
				if stream == nil {
					continue
				}
				list, _ := stream.Extensions["x-named-events"].(map[string]any)
				for name, s := range list {
					target, _ := s.(map[string]any)["$ref"].(string)
					out[name] = target
				}
			}
		}
	}
	return out
}

const eventStream = "text/event-stream"

// Compile compiles a JSON schema of its own, and forbids members that it does not describe.
func Compile(doc any) (*jsonschema.Schema, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	open, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	closeObjects(open)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("schema.json", open); err != nil {
		return nil, fmt.Errorf("add the schema: %w", err)
	}
	return c.Compile("schema.json")
}

// closeObjects forbids members that are not described.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, object := v["properties"].(map[string]any)
		if _, said := v["additionalProperties"]; object && !said {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// Check says how an answer differs from the document.
func (d *Document) Check(a Answer) error {
	if err := d.check(a); err != nil {
		return fmt.Errorf("%s %s answered %d: %w", a.Method, a.Path, a.Status, err)
	}
	return nil
}

func (d *Document) check(a Answer) error {
	pattern, item := d.find(a.Path)
	if a.Method == http.MethodOptions && item != nil {
		if a.Status != http.StatusNoContent || len(a.Body) > 0 {
			return fmt.Errorf("a preflight is answered 204 without a body")
		}
		return nil
	}
	method, op := operation(item, a)
	if op == nil {
		return d.checkNowhere(a, item != nil)
	}
	response := op.Responses.Status(a.Status)
	if response == nil {
		return fmt.Errorf("the status is not described")
	}
	at := "#/paths/" + escape(pattern) + "/" + strings.ToLower(method) + "/responses/" + fmt.Sprint(a.Status)
	if response.Ref != "" {
		at = response.Ref
	}
	if err := d.checkHeaders(a, response.Value.Headers); err != nil {
		return err
	}
	return d.checkContent(a, response.Value.Content, at)
}

// operation is the one that an answer is of. HEAD has none of its own: it is
// answered like GET and, where there is none, by the statuses of POST that it has:
// under a paid path it moves a payment channel.
func operation(item *openapi3.PathItem, a Answer) (method string, op *openapi3.Operation) {
	if item == nil || !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"}, a.Method) {
		return a.Method, nil
	}
	if a.Method != http.MethodHead {
		return a.Method, item.GetOperation(a.Method)
	}
	if item.Get != nil {
		return http.MethodGet, item.Get
	}
	if item.Post != nil && item.Post.Responses.Status(a.Status) != nil {
		return http.MethodPost, item.Post
	}
	return a.Method, nil
}

// checkNowhere checks the answer to a path or a method that is not described.
func (d *Document) checkNowhere(a Answer, known bool) error {
	allowed := []int{400, 404, 408, 413, 429, 431, 500, 503}
	if known {
		allowed = append(allowed, 405)
	}
	if !slices.Contains(allowed, a.Status) {
		return fmt.Errorf("neither the path nor the status is described")
	}
	if a.Status == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "" {
		return fmt.Errorf("405 without Allow")
	}
	if err := d.checkHeaders(a, d.doc.Paths.Value("/health").Get.Responses.Status(200).Value.Headers); err != nil {
		return err
	}
	if a.Method == http.MethodHead {
		return nil
	}
	return d.checkJSON("#/components/schemas/ErrorBody", a.Body)
}

// find returns the path of the document that an actual one matches.
func (d *Document) find(path string) (string, *openapi3.PathItem) {
	if item := d.doc.Paths.Value(path); item != nil {
		return path, item
	}
	parts := strings.Split(path, "/")
	for pattern, item := range d.doc.Paths.Map() {
		if match(strings.Split(pattern, "/"), parts) {
			return pattern, item
		}
	}
	return "", nil
}

func match(pattern, parts []string) bool {
	if len(pattern) != len(parts) {
		return false
	}
	for i, p := range pattern {
		if p != parts[i] && (!strings.HasPrefix(p, "{") || parts[i] == "") {
			return false
		}
	}
	return true
}

func (d *Document) checkHeaders(a Answer, headers openapi3.Headers) error {
	for name, h := range headers {
		values := a.Header.Values(name)
		if len(values) == 0 {
			if h.Value.Required {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		s, err := d.schema("#/components/headers/" + name + "/schema")
		if err != nil {
			return err
		}
		if err := s.Validate(strings.Join(values, ", ")); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

func (d *Document) checkContent(a Answer, content openapi3.Content, at string) error {
	given := a.Header.Get("Content-Type")
	if len(content) == 0 {
		if len(a.Body) > 0 || given != "" {
			return fmt.Errorf("a body of type %q where none is described", given)
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || content[kind] == nil {
		return fmt.Errorf("the content type %q is not described", given)
	}
	if a.Method == http.MethodHead {
		if len(a.Body) > 0 {
			return fmt.Errorf("HEAD with a body")
		}
		return nil
	}
	if kind == eventStream {
		return d.CheckEvents(a.Body)
	}
	if !strings.HasSuffix(kind, "json") {
		if !utf8.Valid(a.Body) || len(a.Body) == 0 {
			return fmt.Errorf("the text is empty or no UTF-8")
		}
		return nil
	}
	pointer := at + "/content/" + escape(kind) + "/schema"
	if ref := content[kind].Schema.Ref; ref != "" {
		pointer = ref
	}
	return d.checkJSON(pointer, a.Body)
}

// CheckEvents checks each event of a stream, also of one that broke off between
// two.
func (d *Document) CheckEvents(stream []byte) error {
	for event := range bytes.SplitSeq(stream, []byte("\n\n")) {
		if len(event) == 0 {
			continue
		}
		name, plain := []byte(nil), event
		if rest, ok := bytes.CutPrefix(event, []byte("event: ")); ok {
			name, plain, _ = bytes.Cut(rest, []byte("\n"))
		}
		data, ok := bytes.CutPrefix(plain, []byte("data: "))
		if target := d.named[string(name)]; ok && target != "" {
			if err := d.checkJSON(target, data); err != nil {
				return fmt.Errorf("event %s: %w", name, err)
			}
			continue
		}
		if !ok || name != nil {
			return fmt.Errorf("an event begins %.40q", event)
		}
		if err := d.CheckEvent(bytes.ReplaceAll(data, []byte("\ndata: "), []byte("\n"))); err != nil {
			return err
		}
	}
	return nil
}

// CheckEvent checks the data of one event against the schema of its type.
func (d *Document) CheckEvent(data []byte) error {
	var e struct{ Type string }
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	// Through the mapping, and not through oneOf, whose errors name every branch.
	union := d.doc.Components.Schemas["StreamEvent"].Value
	target, ok := union.Discriminator.Mapping[e.Type]
	if !ok {
		return fmt.Errorf("event of type %q is not described", e.Type)
	}
	if err := d.checkJSON(target.Ref, data); err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	return nil
}

func (d *Document) checkJSON(pointer string, body []byte) error {
	s, err := d.schema(pointer)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is no JSON: %w: %.100s", err, body)
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("%w in %.300s", err, body)
	}
	return nil
}

func (d *Document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[pointer]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(resource + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", pointer, err)
	}
	d.compiled[pointer] = s
	return s, nil
}

// escape makes a name a token of a JSON pointer, within a URL.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}
