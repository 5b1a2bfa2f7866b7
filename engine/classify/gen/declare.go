package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// argument is one argument of a declaration, or one component of a tuple.
type argument struct {
	name    string // as declared; empty when the source gives none
	kind    string // canonical ABI type, tuples written out
	indexed bool
	parts   []argument // of a tuple or of the elements of an array of tuples
}

// declaration is an event or function as its contract declares it.
type declaration struct {
	name string
	args []argument
}

// parseDeclaration reads "Name(type [indexed] [name], ...)". Tuples are written as
// lists in parentheses, with or without names.
func parseDeclaration(text string) (declaration, error) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !strings.HasSuffix(rest, ")") {
		return declaration{}, fmt.Errorf("%q is no declaration", text)
	}
	args, err := parseArguments(rest[:len(rest)-1])
	return declaration{name, args}, err
}

func parseArguments(list string) (args []argument, err error) {
	for _, part := range splitTop(list) {
		a, err := parseArgument(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return args, nil
}

// splitTop cuts a list at the commas that stand in no parentheses.
func splitTop(list string) (parts []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, list[from:i])
				from = i + 1
			}
		}
	}
	if strings.TrimSpace(list[from:]) != "" {
		parts = append(parts, list[from:])
	}
	return parts
}

func parseArgument(text string) (a argument, err error) {
	rest := text
	if strings.HasPrefix(text, "(") {
		end := closing(text)
		if end < 0 {
			return a, fmt.Errorf("parentheses of %q", text)
		}
		if a.parts, err = parseArguments(text[1:end]); err != nil {
			return a, err
		}
		suffix, tail, _ := strings.Cut(text[end+1:], " ")
		a.kind, rest = tupleOf(a.parts)+suffix, tail
	} else {
		a.kind, rest, _ = strings.Cut(text, " ")
	}
	for _, w := range strings.Fields(rest) {
		if w == "indexed" {
			a.indexed = true
		} else {
			a.name = w
		}
	}
	return a, nil
}

func closing(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func tupleOf(parts []argument) string {
	kinds := make([]string, len(parts))
	for i := range parts {
		kinds[i] = parts[i].kind
	}
	return "(" + strings.Join(kinds, ",") + ")"
}

func (d *declaration) signature() string { return d.name + tupleOf(d.args) }

func (d *declaration) indexed() (n int) {
	for _, a := range d.args {
		if a.indexed {
			n++
		}
	}
	return n
}

// array splits "T[3][]" into its element and the last length; length -1 is unbounded.
func array(kind string) (element string, length int, ok bool) {
	if !strings.HasSuffix(kind, "]") {
		return "", 0, false
	}
	open := strings.LastIndexByte(kind, '[')
	if n := kind[open+1 : len(kind)-1]; n != "" {
		length, _ = strconv.Atoi(n)
		return kind[:open], length, true
	}
	return kind[:open], -1, true
}

// words is how many words the head of a value takes, and whether its body stands
// elsewhere: then the one word is an offset.
func (a *argument) words() (n int, dynamic bool) {
	if element, length, ok := array(a.kind); ok {
		e := argument{kind: element, parts: a.parts}
		each, moved := e.words()
		if length < 0 || moved {
			return 1, true
		}
		return length * each, false
	}
	if a.kind == "bytes" || a.kind == "string" {
		return 1, true
	}
	if !strings.HasPrefix(a.kind, "(") {
		return 1, false
	}
	for i := range a.parts {
		each, moved := a.parts[i].words()
		n += each
		dynamic = dynamic || moved
	}
	if dynamic {
		return 1, true
	}
	return n, false
}

// roles lists name=place of every argument. Places: t1..t3 a topic; d4 a word of the
// data, or of the arguments of a call; d0/2 word 2 of what word 0 is the offset of; a
// "*" after it says that the word is the offset of an array, bytes or text.
func (d *declaration) roles(plain bool) string {
	r := roleWriter{taken: map[string]int{}}
	topic, word := 0, 0
	for i := range d.args {
		a := &d.args[i]
		if a.indexed && !plain {
			topic++
			r.add(a.name, i, "t"+strconv.Itoa(topic))
			continue
		}
		word += r.place(a, i, "d", word)
	}
	return strings.Join(r.list, ",")
}

type roleWriter struct {
	list  []string
	taken map[string]int
}

// place writes the roles of a value whose head starts at a word, and returns how many
// words the head takes.
func (r *roleWriter) place(a *argument, i int, base string, word int) int {
	n, dynamic := a.words()
	here := base + strconv.Itoa(word)
	if !strings.HasPrefix(a.kind, "(") || strings.HasSuffix(a.kind, "]") {
		if dynamic {
			here += "*"
		}
		r.add(a.name, i, here)
		return n
	}
	if dynamic {
		base, word = here+"/", 0
	}
	for j := range a.parts {
		word += r.place(&a.parts[j], j, base, word)
	}
	return n
}

func (r *roleWriter) add(name string, i int, place string) {
	name = snake(name)
	if name == "" {
		name = "arg" + strconv.Itoa(i)
	}
	if r.taken[name]++; r.taken[name] > 1 {
		name += "_" + strconv.Itoa(r.taken[name])
	}
	r.list = append(r.list, name+"="+place)
}

// snake writes camelCase as snake_case, without leading underscores.
func snake(name string) string {
	var b strings.Builder
	last := rune('_')
	for _, c := range strings.Trim(name, "_") {
		if unicode.IsUpper(c) {
			if last != '_' && !unicode.IsUpper(last) {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(c))
		} else {
			b.WriteRune(c)
		}
		last = c
	}
	return b.String()
}
