package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// Limits of a folder.
const (
	maxFiles = 1000
	maxBytes = 64 << 20 // of all files
	maxRows  = 1 << 20  // of all files
)

// Kinds of files. Those of rows are told by how their names begin, the others by their folder.
const (
	kindLabels    = "labels"
	kindTokens    = "tokens"
	kindChains    = "chains"
	kindIncidents = "incidents"
	kindBad       = "bad"
	kindProtocols = "protocols"
	kindABIs      = "abis"
)

// order is that in which kinds are read: all rows may name a chain.
var order = []string{kindChains, kindProtocols, kindABIs, kindTokens, kindBad, kindLabels, kindIncidents}

// wanted says which files there are.
const wanted = "want labels*.tsv, tokens*.tsv, chains*.tsv, incidents*.tsv, bad*.tsv, protocols/*.txt or abis/*.json"

// reader reads one folder.
type reader struct {
	*tables
	faults  Faults
	places  map[string]string // what stands once, and where
	classes map[class]*class
	total   int    // rows
	file    string // that is read
	nth     int32  // its index
}

// Read reads a folder. An error is a *Faults with all that is wrong, or that of the file system.
func Read(fsys fs.FS) (*Data, error) {
	r := &reader{places: map[string]string{}, classes: map[class]*class{}, tables: &tables{
		labels: map[place]entry{}, tokens: map[place]label.Token{}, incidents: map[event]Incident{},
	}}
	names, err := r.list(fsys)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts(fsys, names)
	if err != nil {
		return nil, err
	}
	for _, kind := range order {
		for i := range r.files {
			if f := &r.files[i]; f.Kind == kind {
				r.file, r.nth = f.Name, int32(i)
				before := r.total
				r.read(f, texts[i])
				f.Rows = r.total - before
			}
		}
	}
	r.register()
	if len(r.faults.List) > 0 {
		slices.SortStableFunc(r.faults.List, func(a, b Fault) int { return strings.Compare(a.File, b.File) })
		return nil, &r.faults
	}
	return &Data{tables: r.tables, private: true}, nil
}

// list lists the files of data in the folder and in the folders for protocols and ABIs.
func (r *reader) list(fsys fs.FS) (names []string, err error) {
	for _, dir := range []string{".", kindABIs, kindProtocols} {
		entries, err := fs.ReadDir(fsys, dir)
		if dir != "." && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the files: %w", err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case ignored(e.Name()) || dir == "." && e.IsDir() && (e.Name() == kindABIs || e.Name() == kindProtocols):
			case e.IsDir() || kindOf(name) == "":
				r.faults.add(name, 0, "it is no file of data; "+wanted)
			default:
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	if len(names) > maxFiles {
		return nil, &Faults{List: []Fault{{File: names[maxFiles], Text: fmt.Sprintf("it is beyond the limit of %d files", maxFiles)}}}
	}
	return names, nil
}

// ignored reports whether a file is none of data: documents, and what editors and version
// control leave.
func ignored(name string) bool {
	return name[0] == '.' || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".md") || name == "LICENSE" || name == "README"
}

// kindOf is the kind of a file by its name; empty: it is none of data.
func kindOf(name string) string {
	dir, base := path.Split(name)
	switch {
	case dir == kindProtocols+"/" && path.Ext(base) == ".txt":
		return kindProtocols
	case dir == kindABIs+"/" && path.Ext(base) == ".json":
		return kindABIs
	case dir != "" || path.Ext(base) != ".tsv":
		return ""
	}
	for _, kind := range []string{kindLabels, kindTokens, kindChains, kindIncidents, kindBad} {
		if rest, ok := strings.CutPrefix(base, kind); ok && (rest[0] == '.' || rest[0] == '-') {
			return kind
		}
	}
	return ""
}

// texts reads the files and adds them up.
func (r *reader) texts(fsys fs.FS, names []string) (texts []string, err error) {
	sum, left := sha256.New(), int64(maxBytes)
	for _, name := range names {
		data, err := readFile(fsys, name, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if left -= int64(len(data)); left < 0 {
			return nil, &Faults{List: []Fault{{File: name, Text: fmt.Sprintf("the files up to it are larger than %d MiB", maxBytes>>20)}}}
		}
		addTo(sum, name, data)
		r.files = append(r.files, File{Name: name, Kind: kindOf(name)})
		texts = append(texts, string(bytes.TrimPrefix(data, []byte(api.ByteOrderMark))))
	}
	r.digest = hex.EncodeToString(sum.Sum(nil))
	return texts, nil
}

// readFile reads a file, and one byte more than left of a larger one.
func readFile(fsys fs.FS, name string, left int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return io.ReadAll(io.LimitReader(f, left+1))
}

func addTo(sum hash.Hash, name string, data []byte) {
	fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(data))
	sum.Write(data)
}

// read reads one file.
func (r *reader) read(f *File, text string) {
	switch f.Kind {
	case kindProtocols:
		r.protocol(text)
	case kindABIs:
		r.abi(text)
	case kindChains:
		r.lines(text, 3, 6, r.chain)
	case kindTokens:
		r.lines(text, 4, 5, r.token)
	case kindBad:
		r.lines(text, 3, 6, r.bad)
	case kindLabels:
		r.lines(text, 3, 7, r.label)
	case kindIncidents:
		r.lines(text, 6, 6, r.incident)
	}
}

// lines calls row for each line but blank ones and comments, with its cells. The last ones may be
// left out, and then they are empty.
func (r *reader) lines(text string, least, most int, row func(line int, cells []string) error) {
	n := 0
	cells := make([]string, most)
	for line := range strings.Lines(text) {
		n++
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if r.total++; r.total > maxRows {
			if r.total == maxRows+1 {
				r.faults.add(r.file, n, fmt.Sprintf("it is beyond the limit of %d rows in all files", maxRows))
			}
			continue
		}
		got := split(line, cells)
		var err error
		if got < least || got > most {
			err = fmt.Errorf("it has %d columns, separated by tabs; want %s", got, span(least, most))
		} else {
			err = row(n, cells)
		}
		if err != nil {
			r.faults.add(r.file, n, err.Error())
		}
	}
}

// split cuts a line at its tabs into cells without blanks around them, and counts them.
func split(line string, cells []string) (n int) {
	clear(cells)
	for more := true; more; n++ {
		var cell string
		cell, line, more = strings.Cut(line, "\t")
		if n < len(cells) {
			cells[n] = strings.TrimSpace(cell)
		}
	}
	return n
}

func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// signatures is where ABIs and protocols go.
func (r *reader) signatures() *decode.Own {
	if r.own == nil {
		r.own = decode.NewOwn()
	}
	return r.own
}

// address reads an address. One with letters of both cases must have the checksum of EIP-55.
func address(text string) (a common.Address, err error) {
	if err := a.UnmarshalText([]byte(text)); err != nil || len(text) != 2+2*len(a) {
		return a, fmt.Errorf("%q is no address", api.OneLine(text, 60))
	}
	digits := text[2:]
	if strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits && a.Hex() != text {
		return a, fmt.Errorf("%s has a wrong checksum (EIP-55): a digit is mistyped, or write it in lower case", text)
	}
	return a, nil
}
