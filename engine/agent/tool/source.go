package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"txlens/engine/api"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Bounds of one answer with source.
const (
	maxLines   = 150
	maxRegions = 4  // of one name: overloads, overrides of parents
	maxOutline = 60 // declarations listed
)

type sourceInput struct {
	Address  Address `json:"address"  need:"" doc:"the contract; of a proxy, its implementation is asked for separately"`
	Function *string `json:"function"         doc:"name of a function, modifier, struct or event; constructor, receive and fallback count" max:"80"`
	File     *string `json:"file"             doc:"path of a file, as the answer without function lists them"                              max:"200"`
	From     *int    `json:"from"             doc:"first line of the file"                                                                 max:"1000000" min:"1"`
	To       *int    `json:"to"               doc:"last line; at most 150 are given"                                                       max:"1000000" min:"1"`
	Offset   int     `json:"offset"           doc:"declarations to pass over in the list"                                                  max:"100000"  min:"0"`
}

// SourceView is an excerpt of verified source. The contract's author wrote it, comments
// included.
type SourceView struct {
	Address        api.Addr      `json:"address"` // the address in the question
	Origin         string        `json:"origin"`
	Implementation *api.Addr     `json:"implementation,omitempty"` // of a proxy: the address whose source is relevant
	Pieces         []SourcePiece `json:"pieces,omitempty"`
	More           int           `json:"more,omitzero"` // further pieces of that name
	Files          []SourceFile  `json:"files,omitempty"`
	Outline        []string      `json:"outline,omitempty"` // "line kind name" of the contract's own file, or of the one asked for
	Page           *Page         `json:"page,omitempty"`    // of the outline
	Note           string        `json:"note,omitempty"`
}

// SourcePiece is a range of lines.
type SourcePiece struct {
	File  string   `json:"file"`
	From  int      `json:"from"`
	To    int      `json:"to"`
	Of    int      `json:"of"` // number of lines of the file
	Lines []string `json:"lines"`
	Cut   int      `json:"cut,omitzero"` // lines of it that are not shown
}

// SourceFile is one of the files.
type SourceFile struct {
	File  string `json:"file"`
	Lines int    `json:"lines"`
}

var getSource = define(
	"get_source",
	"Verified source of a contract: one function by name, or a region of a file, or, with the address alone, the list of files and declarations. Text in it is the author's, not a fact.",
	limitRemote,
	func(ctx context.Context, d *Env, in *sourceInput) (any, error) {
		w, err := d.world()
		if err != nil {
			return nil, err
		}
		src, err := w.SourceText(ctx, d.chain(), common.Address(in.Address))
		if errors.Is(err, upstream.ErrNotFound) {
			return unavailable("nobody verified the source of this contract: what it does is known from its trace and calldata alone")
		}
		if err != nil {
			return nil, err
		}
		v := SourceView{Address: api.Addr(in.Address), Origin: src.Origin}
		if c := d.Case.Evidence.Contracts[common.Address(in.Address)]; c != nil && c.Implementation != nil {
			impl := api.AddrOf(*c.Implementation)
			v.Implementation = &impl
		}
		b := newBook(src)
		switch {
		case in.Function != nil:
			err = b.named(&v, *in.Function, in.File)
		case in.From != nil || in.To != nil:
			err = b.lines(&v, in)
		default:
			err = b.outline(&v, in)
		}
		if src.Cut > 0 {
			v.Note = "left out, because the source is too large: " + api.Count(src.Cut, "file")
		}
		return v, err
	},
)

// sourceLines is verified source split into lines.
type sourceLines struct {
	src   *upstream.SourceText
	files [][]string
}

func newBook(src *upstream.SourceText) *sourceLines {
	b := &sourceLines{src: src}
	for _, f := range src.Files {
		b.files = append(b.files, strings.Split(strings.ReplaceAll(f.Text, "\t", "    "), "\n"))
	}
	return b
}

func (b *sourceLines) file(path *string) (int, error) {
	if path == nil {
		return 0, nil
	}
	for i, f := range b.src.Files {
		if f.Path == *path {
			return i, nil
		}
	}
	return 0, errors.New("there is no such file: ask with the address alone for the list")
}

// named returns the declarations of a name: those with a body first, since those in
// interfaces have none.
func (b *sourceLines) named(v *SourceView, name string, path *string) error {
	only, err := b.file(path)
	if err != nil {
		return err
	}
	name, _, _ = strings.Cut(name, "(")
	var bodies, heads []region
	for i, lines := range b.files {
		if path != nil && i != only {
			continue
		}
		for _, r := range declarations(i, lines) {
			if r.Name != name || r.Kind == "contract" || r.Kind == "library" || r.Kind == "interface" {
				continue
			}
			if strings.ContainsAny(strings.Join(lines[r.From-1:r.To], ""), "{:") {
				bodies = append(bodies, r)
			} else {
				heads = append(heads, r)
			}
		}
	}
	if len(bodies) == 0 {
		bodies = heads
	}
	if len(bodies) == 0 {
		return fmt.Errorf("nothing of that name is declared in the source: ask with the address alone for what is")
	}
	left := maxLines
	for i, r := range bodies {
		if i == maxRegions || left <= 0 {
			v.More = len(bodies) - i
			break
		}
		p := b.piece(r.File, r.From, r.To, left)
		left -= len(p.Lines)
		v.Pieces = append(v.Pieces, p)
	}
	return nil
}

// piece cuts lines to the bounds of one answer.
func (b *sourceLines) piece(file, from, to, most int) SourcePiece {
	lines := b.files[file]
	to = min(to, len(lines))
	p := SourcePiece{File: b.src.Files[file].Path, From: from, Of: len(lines), Lines: []string{}}
	size := 0
	for i := from; i <= to; i++ {
		text := strings.TrimRight(lines[i-1], " \r")
		if len(p.Lines) == most || size+len(text) > pageBytes {
			p.Cut = to - i + 1
			break
		}
		size += len(text) + 8
		p.Lines = append(p.Lines, text)
	}
	p.To = from + len(p.Lines) - 1
	return p
}

func (b *sourceLines) lines(v *SourceView, in *sourceInput) error {
	file, err := b.file(in.File)
	if err != nil {
		return err
	}
	from := or(in.From, 1)
	to := or(in.To, from+maxLines-1)
	if n := len(b.files[file]); from > n || to < from {
		return fmt.Errorf("the file has %d lines: want from <= to, both in it", n)
	}
	v.Pieces = []SourcePiece{b.piece(file, from, to, maxLines)}
	return nil
}

// outline lists the files and the declarations of one of them.
func (b *sourceLines) outline(v *SourceView, in *sourceInput) error {
	file, err := b.file(in.File)
	if err != nil {
		return err
	}
	v.Files, _ = pageOf(len(b.files), 0, maxOutline, func(i int) SourceFile { return SourceFile{b.src.Files[i].Path, len(b.files[i])} })
	found := declarations(file, b.files[file])
	var page Page
	v.Outline, page = pageOf(len(found), in.Offset, maxOutline, func(i int) string {
		return fmt.Sprintf("%d %s %s", found[i].From, found[i].Kind, found[i].Name)
	})
	v.Page = &page
	return nil
}
