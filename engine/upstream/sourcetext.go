package upstream

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SourceText is the verified source of a contract. Its author wrote it: comments and names
// may say anything.
type SourceText struct {
	Origin string       // sourcify, etherscan, blockscout
	Files  []SourceFile // the contract's own first, the others by path; never empty
	Cut    int          // number of files omitted, because the source exceeds the bounds
}

// SourceFile is one file, as it was verified.
type SourceFile struct {
	Path string `json:"path"` // at most 200 characters
	Text string `json:"text"`
}

// Bounds of the source that is kept: the largest verified ones have a few hundred
// files and about a MiB.
const (
	maxSourceFiles = 400
	maxSourceBytes = 2 << 20
)

// SourceText asks for the source of a contract, in the order and with the errors
// of Source.
func (s *Session) SourceText(ctx context.Context, ch *chain.Chain, a common.Address) (*SourceText, error) {
	return askServices[*SourceText](ctx, s, ch, s.serviceCalls(ch, a, "text", decodeText, []sourceService{
		{tool: ToolSourcify, live: sourcifyText(ch, a)},
		{
			tool: ToolEtherscan,
			live: textLive(ToolEtherscan, ch, func(c *Client) (*endpoint, *url.URL) { return c.etherscanURL(ch, a) }, readEtherscanText),
		},
		{
			tool: ToolBlockscout,
			live: textLive(ToolBlockscout, ch, func(c *Client) (*endpoint, *url.URL) { return c.blockscoutURL(ch, a) }, readBlockscoutText),
		},
	}))
}

// textRecord is a SourceText as it is stored.
type textRecord struct {
	Files []SourceFile `json:"files"`
	Cut   int          `json:"cut,omitzero"`
}

func decodeText(origin string) decodeFunc {
	return func(dec *jsontext.Decoder) (any, error) {
		var r textRecord
		if err := json.UnmarshalDecode(dec, &r); err != nil {
			return nil, err
		}
		return &SourceText{Origin: origin, Files: r.Files, Cut: r.Cut}, nil
	}
}

// newText sorts files and applies the bounds. main is the path of the contract's own file,
// or the end of one; no text at all means that the source is not verified.
func newText(files []SourceFile, main string) (*textRecord, error) {
	files = slices.DeleteFunc(files, func(f SourceFile) bool { return strings.TrimSpace(f.Text) == "" })
	if len(files) == 0 {
		return nil, errNotVerified
	}
	own := func(f SourceFile) int {
		if main != "" && (f.Path == main || strings.HasSuffix(f.Path, "/"+main)) {
			return 0
		}
		return 1
	}
	slices.SortFunc(files, func(a, b SourceFile) int {
		if d := own(a) - own(b); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	r, size := &textRecord{}, 0
	for _, f := range files {
		if len(r.Files) == maxSourceFiles || size+len(f.Text) > maxSourceBytes {
			r.Cut++
			continue
		}
		size += len(f.Text)
		r.Files = append(r.Files, SourceFile{Path: api.Clean(f.Path, 200), Text: strings.ToValidUTF8(f.Text, "\uFFFD")})
	}
	if len(r.Files) == 0 {
		return nil, errAnswerTooLarge
	}
	return r, nil
}

func sourcifyText(ch *chain.Chain, a common.Address) func(context.Context, *Client, bool) (reply, int, *Error) {
	return textLive(ToolSourcify, ch, func(c *Client) (*endpoint, *url.URL) {
		u := c.sourcify.url.JoinPath("v2", "contract", strconv.FormatUint(ch.ID, 10), hexAddress(a))
		q := u.Query()
		q.Set("fields", "sources,compilation.fullyQualifiedName")
		u.RawQuery = q.Encode()
		return c.sourcify, u
	}, readSourcifyText)
}

func textLive(
	tool string,
	ch *chain.Chain,
	where func(*Client) (*endpoint, *url.URL),
	read func(int, []byte) (any, error),
) func(context.Context, *Client, bool) (reply, int, *Error) {
	return func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		e, u := where(c)
		out, err := c.fetch(ctx, e, tool, ch.Slug, u, decodeText(tool), keep, read)
		return out, 1, err
	}
}

func readSourcifyText(status int, raw []byte) (any, error) {
	var a struct {
		Match       *string         `json:"match"`
		CustomCode  string          `json:"customCode"`
		Sources     map[string]text `json:"sources"`
		Compilation struct {
			Name string `json:"fullyQualifiedName"`
		} `json:"compilation"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if err := sourcifyStatus(status, a.CustomCode, a.Match != nil); err != nil {
		return nil, err
	}
	main, _, _ := strings.Cut(a.Compilation.Name, ":")
	return newText(filesOf(a.Sources), main)
}

// text is the content of a file in the JSON of compilers.
type text struct {
	Content string `json:"content"`
}

func filesOf(sources map[string]text) []SourceFile {
	var files []SourceFile
	for path, t := range sources {
		files = append(files, SourceFile{path, t.Content})
	}
	return files
}

func readEtherscanText(status int, raw []byte) (any, error) {
	item, err := readEtherscanItem(status, raw)
	if err != nil {
		return nil, err
	}
	main := item.ContractName + ".sol"
	code := strings.TrimSpace(item.SourceCode)
	if !strings.HasPrefix(code, "{") {
		return newText([]SourceFile{{main, code}}, main)
	}
	// Two forms of several files: the standard input of the compiler in a further
	// pair of braces, and a bare map of files.
	if strings.HasPrefix(code, "{{") && strings.HasSuffix(code, "}}") {
		code = code[1 : len(code)-1]
	}
	var input struct {
		Sources map[string]text `json:"sources"`
	}
	if err := readJSON([]byte(code), &input); err != nil {
		return nil, err
	}
	if input.Sources == nil {
		if err := readJSON([]byte(code), &input.Sources); err != nil {
			return nil, err
		}
	}
	return newText(filesOf(input.Sources), main)
}

func readBlockscoutText(status int, raw []byte) (any, error) {
	type file struct {
		Path string `json:"file_path"`
		Text string `json:"source_code"`
	}
	var a struct {
		file
		Name  string `json:"name"`
		Other []file `json:"additional_sources"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	switch {
	case status == http.StatusNotFound:
		return nil, errNotVerified
	case status != http.StatusOK:
		return nil, newError(KindRejected, "HTTP status "+strconv.Itoa(status))
	}
	main := or(a.Path, a.Name+".sol")
	files := []SourceFile{{main, a.Text}}
	for _, f := range a.Other {
		files = append(files, SourceFile(f))
	}
	return newText(files, main)
}
