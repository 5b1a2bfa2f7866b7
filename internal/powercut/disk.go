package powercut

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// sector is what a disk writes whole.
const sector = 512

// kind says what an event is.
type kind string

const (
	made      kind = "made"      // a file: path, node
	madeDir   kind = "made dir"  // path
	wrote     kind = "wrote"     // node, off, data
	resized   kind = "resized"   // node, off is the length
	renamed   kind = "renamed"   // path, to
	linked    kind = "linked"    // path, to
	removed   kind = "removed"   // path
	synced    kind = "synced"    // node; what came before the event since is certain
	syncedDir kind = "synced in" // path; the same for its names
	said      kind = "said"      // text
)

// event is one change, or one line of output. Paths are relative to the root.
type event struct {
	kind  kind
	node  int
	path  string
	to    string
	off   int64
	data  []byte
	text  string
	since int // number of events when the sync began
}

// Recording is what a program did to the files below a folder.
type Recording struct {
	files  map[string][]byte // as they were before
	dirs   []string
	modes  map[string]fs.FileMode
	nodes  map[string]int // of the files that were there before
	events []event
}

// Len is the number of moments between which the power can fail.
func (r *Recording) Len() int { return len(r.events) }

// Said returns the lines that were printed before a moment.
func (r *Recording) Said(at int) (lines []string) {
	for _, e := range r.events[:at] {
		if e.kind == said {
			lines = append(lines, e.text)
		}
	}
	return lines
}

// Renamed returns the moments after names were changed and after folders were synced.
// They are few among the writes, and what goes wrong with names goes wrong there.
func (r *Recording) Renamed() (moments []int) {
	for i, e := range r.events {
		switch e.kind {
		case made, madeDir, renamed, linked, removed, syncedDir:
			moments = append(moments, i+1)
		}
	}
	return moments
}

// snapshot reads what is below root; all of it counts as synced.
func snapshot(root string) (*Recording, error) {
	r := &Recording{files: map[string][]byte{}, modes: map[string]fs.FileMode{}, nodes: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			r.dirs = append(r.dirs, rel)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		r.nodes[rel], r.files[rel], r.modes[rel] = len(r.nodes)+1, content, info.Mode().Perm()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root, err)
	}
	return r, nil
}

// change is an event that is not certain yet.
type change struct {
	at int
	event
}

// disk is what a recording has come to at a moment: what is certain, and what is not.
type disk struct {
	content map[int][]byte   // of the files, as far as it is certain
	writes  map[int][]change // of each file, in their order
	names   map[string]int   // certain names of files; 0 stands for a folder
	entries map[string][]change
	current map[string]int // the names that the program sees
}

const folder = 0

func (r *Recording) start() *disk {
	d := &disk{
		content: map[int][]byte{},
		writes:  map[int][]change{},
		names:   map[string]int{},
		entries: map[string][]change{},
		current: map[string]int{},
	}
	for _, path := range r.dirs {
		d.names[path], d.current[path] = folder, folder
	}
	for path, node := range r.nodes {
		d.names[path], d.current[path], d.content[node] = node, node, slices.Clone(r.files[path])
	}
	return d
}

// apply takes one event.
func (d *disk) apply(at int, e event) {
	c := change{at, e}
	switch e.kind {
	case wrote, resized:
		d.writes[e.node] = append(d.writes[e.node], c)
	case synced:
		rest := d.writes[e.node]
		for len(rest) > 0 && rest[0].at < e.since {
			d.content[e.node] = rest[0].on(d.content[e.node])
			rest = rest[1:]
		}
		d.writes[e.node] = rest
	case made, madeDir, renamed, linked, removed:
		if e.kind == linked || e.kind == renamed {
			c.node = d.current[e.path]
		}
		c.rename(d.current)
		in := filepath.Dir(e.path)
		d.entries[in] = append(d.entries[in], c)
	case syncedDir:
		rest := d.entries[e.path]
		for len(rest) > 0 && rest[0].at < e.since {
			rest[0].rename(d.names)
			rest = rest[1:]
		}
		d.entries[e.path] = rest
	}
}

// on returns the content after a write or a change of the length; it may change what it
// is given.
func (c change) on(content []byte) []byte {
	size, old := int(c.off), len(content)
	if c.kind == wrote {
		size = max(old, size+len(c.data))
	}
	content = slices.Grow(content[:min(old, size)], size-min(old, size))[:size]
	clear(content[min(old, size):])
	if c.kind == wrote {
		copy(content[c.off:], c.data)
	}
	return content
}

// rename makes the change of a name.
func (c change) rename(names map[string]int) {
	switch c.kind {
	case made:
		names[c.path] = c.node
	case madeDir:
		names[c.path] = folder
	case linked:
		names[c.to] = c.node
	case renamed:
		// The name in force counts: another change of it may have been lost.
		delete(names, c.path)
		names[c.to] = c.node
	case removed:
		delete(names, c.path)
	}
}

// Cut makes in folder to, which must be empty, what may be left when the power fails
// after the first at events. What of the uncertain changes is kept is up to rnd: in
// one of four cuts nothing, in one everything.
func (r *Recording) Cut(to string, at int, rnd *rand.Rand) error {
	d := r.start()
	for i, e := range r.events[:at] {
		d.apply(i, e)
	}
	keep := func() bool { return rnd.IntN(2) == 0 }
	switch rnd.IntN(4) {
	case 0:
		keep = func() bool { return false }
	case 1:
		keep = func() bool { return true }
	}
	for _, node := range sortedKeys(d.writes) {
		for _, c := range d.writes[node] {
			for _, part := range c.torn(keep, rnd) {
				d.content[node] = part.on(d.content[node])
			}
		}
	}
	for _, in := range sortedKeys(d.entries) {
		for _, c := range d.entries[in] {
			if !keep() {
				break // a later change of the folder is not there without this one
			}
			c.rename(d.names)
		}
	}
	return r.write(to, d)
}

func sortedKeys[K int | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// torn is what of a change arrives. One write in four is taken apart.
func (c change) torn(keep func() bool, rnd *rand.Rand) (parts []change) {
	size := len(c.data)
	if c.kind == wrote && rnd.IntN(4) == 0 {
		size = sector
	}
	for i := 0; i == 0 || i < len(c.data); i += max(size, 1) {
		part := c
		if c.kind == wrote {
			part.off, part.data = c.off+int64(i), c.data[i:min(i+size, len(c.data))]
		}
		if keep() {
			parts = append(parts, part)
		}
	}
	return parts
}

// write makes the files of a disk in an empty folder. A file whose folder is not there
// is lost.
func (r *Recording) write(to string, d *disk) error {
	for _, path := range sortedKeys(d.names) {
		if up, ok := d.names[filepath.Dir(path)]; path != "." && (!ok || up != folder) {
			delete(d.names, path)
			continue
		}
		there := filepath.Join(to, path)
		if node := d.names[path]; node != folder {
			mode, ok := r.modes[path]
			if !ok {
				mode = 0o600
			}
			if err := os.WriteFile(there, d.content[node], mode); err != nil {
				return fmt.Errorf("write what is left: %w", err)
			}
		} else if err := os.MkdirAll(there, 0o700); err != nil {
			return fmt.Errorf("write what is left: %w", err)
		}
	}
	return nil
}
