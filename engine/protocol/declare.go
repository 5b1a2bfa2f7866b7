package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// argument is one argument of a declaration, or one component of a tuple.
type argument struct {
	name    string // as published; empty when the source gives none
	role    string // empty when it is the name
	kind    string // canonical ABI type, tuples written out
	indexed bool
	parts   []argument // of a tuple or of the elements of an array of tuples
}

// declaration is an event or function as its contract declares it.
type declaration struct {
	name    string
	args    []argument
	returns string // as written, of a function
}

// parseDeclaration reads "Name(type [indexed] [name[:role]], ...) [returns (...)]".
// Tuples are written as lists in parentheses, with or without names.
func parseDeclaration(text string) (d declaration, err error) {
	open := strings.IndexByte(text, '(')
	if open < 1 {
		return d, fmt.Errorf("%q is no declaration", text)
	}
	end := closing(text[open:])
	if end < 0 {
		return d, fmt.Errorf("parentheses of %q", text)
	}
	d.name = text[:open]
	rest := text[open+end+1:]
	var ok bool
	if d.returns, ok = strings.CutPrefix(rest, " returns "); !ok && rest != "" {
		return d, fmt.Errorf("%q after the arguments", rest)
	}
	d.args, err = parseArguments(text[open+1:open+end], maxNesting)
	return d, err
}

// Limits of a declaration. Those of published contracts are far below.
const (
	maxNesting = 16      // tuples within tuples
	maxWords   = 1 << 16 // that one argument takes
)

// parseArguments reads a list. levels is how many tuples may stand within each other there.
func parseArguments(list string, levels int) (args []argument, err error) {
	for _, part := range splitTop(list) {
		a, err := parseArgument(strings.TrimSpace(part), levels)
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

func parseArgument(text string, levels int) (a argument, err error) {
	rest := text
	if strings.HasPrefix(text, "(") {
		if levels == 0 {
			return a, fmt.Errorf("more than %d tuples within each other", maxNesting)
		}
		end := closing(text)
		if end < 0 {
			return a, fmt.Errorf("parentheses of %q", text)
		}
		if a.parts, err = parseArguments(text[1:end], levels-1); err != nil {
			return a, err
		}
		suffix, tail, _ := strings.Cut(text[end+1:], " ")
		a.kind, rest = tupleOf(a.parts)+suffix, tail
	} else {
		a.kind, rest, _ = strings.Cut(text, " ")
	}
	if err := a.checkKind(); err != nil {
		return a, err
	}
	for _, w := range strings.Fields(rest) {
		switch {
		case w == "indexed" && a.name == "":
			a.indexed = true
		case a.name == "":
			a.name, a.role, _ = strings.Cut(w, ":")
		default:
			return a, fmt.Errorf("%q after the name in %q", w, text)
		}
	}
	return a, nil
}

// elementary reports whether a type of the contract ABI is neither an array nor a tuple.
func elementary(kind string) bool {
	switch kind {
	case "address", "bool", "string", "bytes", "function":
		return true
	}
	for _, of := range [...]struct {
		name       string
		step, most int
	}{{"uint", 8, 256}, {"int", 8, 256}, {"bytes", 1, 32}} {
		if size, ok := strings.CutPrefix(kind, of.name); ok && size != "" && size[0] >= '1' && size[0] <= '9' {
			n, err := strconv.Atoi(size)
			return err == nil && n <= of.most && n%of.step == 0
		}
	}
	return false
}

// checkKind returns an error unless the type is one of the contract ABI, as a selector is computed
// from it: its aliases, such as uint, are none.
func (a *argument) checkKind() error {
	words := 1
	kind := a.kind
	for strings.HasSuffix(kind, "]") {
		open := strings.LastIndexByte(kind, '[')
		if open < 0 {
			return fmt.Errorf("the brackets of %q do not match", a.kind)
		}
		if text := kind[open+1 : len(kind)-1]; text != "" {
			n, err := strconv.ParseUint(text, 10, 16)
			if err != nil || n == 0 || text[0] == '0' {
				return fmt.Errorf("the length of the array %q is not from 1 to 65535", a.kind)
			}
			words *= int(n)
		}
		if words > maxWords {
			return fmt.Errorf("%q takes more than %d words", a.kind, maxWords)
		}
		kind = kind[:open]
	}
	switch {
	case a.parts == nil && kind != "()" && !elementary(kind):
		return fmt.Errorf("%q is no type; want one of the contract ABI such as uint256, address, bytes32[] or (address,uint256)", kind)
	case a.parts != nil && kind != tupleOf(a.parts):
		return fmt.Errorf("%q follows a tuple; want lengths of an array, or a space and the name", strings.TrimPrefix(kind, tupleOf(a.parts)))
	}
	if e := (&argument{kind: kind, parts: a.parts}); a.parts != nil {
		if each, _ := e.words(); each > maxWords/words {
			return fmt.Errorf("%q takes more than %d words", a.kind, maxWords)
		}
	}
	return nil
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

// published writes the declaration without roles.
func (d *declaration) published() string {
	s := d.name + publishedList(d.args)
	if d.returns != "" {
		s += " returns " + d.returns
	}
	return s
}

func publishedList(args []argument) string {
	list := make([]string, len(args))
	for i := range args {
		a := &args[i]
		s := a.kind
		if a.parts != nil {
			s = publishedList(a.parts) + strings.TrimPrefix(a.kind, tupleOf(a.parts))
		}
		if a.indexed {
			s += " indexed"
		}
		if a.name != "" {
			s += " " + a.name
		}
		list[i] = s
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// named reports whether any argument has a name or a role.
func named(args []argument) bool {
	return slices.ContainsFunc(args, func(a argument) bool { return a.name != "" || a.role != "" || named(a.parts) })
}

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

// roles lists the roles of all arguments with their places; nil when nothing is named.
func (d *declaration) roles() []Role {
	if !named(d.args) {
		return nil
	}
	taken := map[string]int{}
	list := leaves(d.args, func(a *argument, i int) string {
		name := a.role
		if name == "" {
			name = a.name
		}
		if name = snake(name); name == "" {
			name = "arg" + strconv.Itoa(i)
		}
		if taken[name]++; taken[name] > 1 {
			name += "_" + strconv.Itoa(taken[name])
		}
		return name
	})
	return list
}

// published lists the arguments by their published names.
func published(args []argument) []Role {
	return leaves(args, func(a *argument, _ int) string { return a.name })
}

// leaves lists the arguments of a declaration, tuples opened, with their places.
func leaves(args []argument, nameOf func(a *argument, i int) string) []Role {
	w := leafWriter{nameOf: nameOf}
	topic, word := 0, 0
	for i := range args {
		a := &args[i]
		if a.indexed {
			topic++
			w.list = append(w.list, Role{nameOf(a, i), Place{Topic: true, N: topic}})
			continue
		}
		word += w.place(a, i, nil, word)
	}
	return w.list
}

type leafWriter struct {
	nameOf func(a *argument, i int) string
	list   []Role
}

// place writes the leaves of a value whose head starts at a word within the tuples that
// are reached over the offsets at base, and returns how many words the head takes.
func (w *leafWriter) place(a *argument, i int, base []int, word int) int {
	n, dynamic := a.words()
	at := append(slices.Clone(base), word)
	if !strings.HasPrefix(a.kind, "(") || strings.HasSuffix(a.kind, "]") {
		p := Place{N: at[0], Body: dynamic}
		if len(at) > 1 {
			p.Inside = at[1:]
		}
		w.list = append(w.list, Role{w.nameOf(a, i), p})
		return n
	}
	if dynamic {
		base, word = at, 0
	}
	for j := range a.parts {
		word += w.place(&a.parts[j], j, base, word)
	}
	return n
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
