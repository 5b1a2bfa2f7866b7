package overlay

import (
	"fmt"
	"strings"
)

// Fault is what is wrong at one place. Line is 0 where it is the file as such.
type Fault struct {
	File string
	Line int
	Text string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// Faults are what is wrong with a folder, in the order of files and lines.
type Faults struct {
	List []Fault
	More int // faults beyond those of List
}

func (f *Faults) Error() string {
	texts := make([]string, 0, len(f.List)+1)
	for _, x := range f.List {
		texts = append(texts, x.String())
	}
	if f.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", f.More))
	}
	return strings.Join(texts, "; ")
}

// maxFaults bounds the faults that are kept.
const maxFaults = 100

func (f *Faults) add(file string, line int, text string) {
	if len(f.List) == maxFaults {
		f.More++
		return
	}
	f.List = append(f.List, Fault{file, line, text})
}
