package clearsign

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
)

// Bounds of a descriptor.
const (
	maxFile        = 64 << 10 // bytes
	maxDeployments = 200
	maxFunctions   = 200
	maxFields      = 20
	maxLabel       = 80 // bytes of an intent or label
	maxArguments   = 40
	maxDepth       = 4 // of tuples
)

// document is the part of the format that is read.
type document struct {
	Includes string `json:"includes"`
	Context  struct {
		Contract *struct {
			Deployments []struct {
				ChainID uint64 `json:"chainId"`
				Address string `json:"address"`
			} `json:"deployments"`
		} `json:"contract"`
	} `json:"context"`
	Metadata struct {
		Owner string `json:"owner"`
	} `json:"metadata"`
	Display struct {
		Formats map[string]function `json:"formats"`
	} `json:"display"`
}

type function struct {
	Intent any `json:"intent"`
	Fields []struct {
		Ref    string `json:"$ref"`
		Path   string `json:"path"`
		Label  string `json:"label"`
		Format string `json:"format"`
		Params struct {
			TokenPath string `json:"tokenPath"`
			Token     string `json:"token"`
		} `json:"params"`
	} `json:"fields"`
}

// Parse reads a descriptor. file is its name in errors.
func Parse(file string, raw []byte) (*Descriptor, error) {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", file, fmt.Sprintf(format, args...))
	}
	if len(raw) > maxFile {
		return nil, fault("it is larger than %d bytes", maxFile)
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fault("%v", err)
	}
	switch {
	case doc.Includes != "":
		return nil, fault("includes: other files are not read; write the formats into this one")
	case doc.Context.Contract == nil || len(doc.Context.Contract.Deployments) == 0:
		return nil, fault("context.contract.deployments: there is none")
	case len(doc.Context.Contract.Deployments) > maxDeployments || len(doc.Display.Formats) > maxFunctions:
		return nil, fault("more than %d deployments or %d formats", maxDeployments, maxFunctions)
	case !shown(doc.Metadata.Owner):
		return nil, fault("metadata.owner: want plain text of at most %d bytes", maxLabel)
	case len(doc.Display.Formats) == 0:
		return nil, fault("display.formats: there is none")
	}
	d := &Descriptor{Owner: doc.Metadata.Owner, functions: map[[4]byte]*Function{}}
	for _, at := range doc.Context.Contract.Deployments {
		if !common.IsHexAddress(at.Address) || at.ChainID == 0 {
			return nil, fault("context.contract.deployments: chain %d, address %.60q", at.ChainID, at.Address)
		}
		d.Deployments = append(d.Deployments, Deployment{at.ChainID, common.HexToAddress(at.Address)})
	}
	for signature, of := range doc.Display.Formats {
		f, selector, err := parseFunction(d.Owner, signature, &of)
		if err != nil {
			return nil, fault("display.formats %.100q: %v", signature, err)
		}
		if d.functions[selector] != nil {
			return nil, fault("display.formats %.100q: another format has the selector 0x%s", signature, hex.EncodeToString(selector[:]))
		}
		d.functions[selector] = f
	}
	return d, nil
}

// shown reports whether a text of a descriptor can be shown.
func shown(s string) bool {
	return s != "" && len(s) <= maxLabel && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func parseFunction(owner, signature string, of *function) (*Function, [4]byte, error) {
	var selector [4]byte
	intent, ok := of.Intent.(string)
	if !ok || !shown(intent) {
		return nil, selector, fmt.Errorf("intent: want plain text of at most %d bytes", maxLabel)
	}
	name, inputs, err := parseSignature(signature)
	if err != nil {
		return nil, selector, err
	}
	f := &Function{Owner: owner, Intent: intent, inputs: inputs}
	copy(selector[:], abi.NewMethod(name, name, abi.Function, "", false, false, inputs, nil).ID)
	if len(of.Fields) > maxFields {
		return nil, selector, fmt.Errorf("more than %d fields", maxFields)
	}
	for i, raw := range of.Fields {
		if raw.Ref != "" {
			return nil, selector, fmt.Errorf("field %d: $ref is not read; write the field here", i+1)
		}
		fd, err := f.parseField(raw.Path, raw.Label, raw.Format, raw.Params.TokenPath, raw.Params.Token)
		if err != nil {
			return nil, selector, fmt.Errorf("field %d: %w", i+1, err)
		}
		f.fields = append(f.fields, fd)
	}
	return f, selector, nil
}

// Paths that do not lead to an argument.
const (
	pathValue = "@.value" // native coin of the call
	pathTo    = "@.to"    // the contract that is called
)

func (f *Function) parseField(at, label, format, tokenPath, token string) (fd field, err error) {
	fd = field{label: label, format: Format(format)}
	if fd.format == "" {
		fd.format = Raw
	}
	switch {
	case !shown(label):
		return fd, fmt.Errorf("label: want plain text of at most %d bytes", maxLabel)
	case !slices.Contains([]Format{Raw, Native, TokenAmount, AddressName, Date, Duration}, fd.format):
		return fd, fmt.Errorf("format: %.40q is not read", format)
	}
	if at != pathValue {
		if fd.path, err = f.parsePath(at); err != nil {
			return fd, fmt.Errorf("path: %w", err)
		}
	}
	switch {
	case fd.format != TokenAmount:
	case tokenPath == pathTo:
		fd.contract = true
	case tokenPath != "":
		if fd.tokenPath, err = f.parsePath(tokenPath); err != nil {
			return fd, fmt.Errorf("params.tokenPath: %w", err)
		}
	case common.IsHexAddress(token):
		fd.token = new(common.HexToAddress(token))
	default:
		return fd, errors.New("params: a token amount wants tokenPath or token")
	}
	return fd, nil
}

// parsePath reads a path to an argument, such as "#.order.amount" or "amount".
func (f *Function) parsePath(text string) ([]string, error) {
	names := strings.Split(strings.TrimPrefix(text, "#."), ".")
	list, types := f.inputs, []string(nil)
	for i, name := range names {
		at := slices.IndexFunc(list, func(a abi.Argument) bool { return a.Name == name })
		if at < 0 || name == "" {
			return nil, fmt.Errorf("%.60q: there is no argument %.40q", text, name)
		}
		types = append(types, name)
		t := list[at].Type
		if i == len(names)-1 {
			return types, nil
		}
		if t.T != abi.TupleTy {
			break
		}
		list = nil
		for j, part := range t.TupleElems {
			list = append(list, abi.Argument{Name: t.TupleRawNames[j], Type: *part})
		}
	}
	return nil, fmt.Errorf("%.60q leads into a value that has no parts", text)
}

// lookUp follows a path through decoded arguments.
func (f *Function) lookUp(args []any, path []string) (any, bool) {
	at := slices.IndexFunc(f.inputs, func(a abi.Argument) bool { return a.Name == path[0] })
	if at < 0 || at >= len(args) {
		return nil, false
	}
	v := reflect.ValueOf(args[at])
	for _, name := range path[1:] {
		if v.Kind() != reflect.Struct {
			return nil, false
		}
		if v = v.FieldByName(abi.ToCamelCase(name)); !v.IsValid() {
			return nil, false
		}
	}
	return v.Interface(), true
}

// parseSignature reads a function with the names of its arguments: "f(address to,(uint256 a,bool b) x)".
func parseSignature(text string) (name string, args abi.Arguments, err error) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !isName(name) || !strings.HasSuffix(rest, ")") {
		return "", nil, errors.New("want a function with the names of its arguments, such as deposit(address pool,uint256 amount)")
	}
	parts, err := arguments(strings.TrimSuffix(rest, ")"), 0)
	if err != nil {
		return "", nil, err
	}
	for _, p := range parts {
		t, err := abi.NewType(p.Type, "", p.Components)
		if err != nil {
			return "", nil, fmt.Errorf("argument %.40q: %w", p.Name, err)
		}
		args = append(args, abi.Argument{Name: p.Name, Type: t})
	}
	return name, args, nil
}

// typeForm are the types that are decoded. Sizes of arrays are bounded, because a decoder makes
// room for them before it looks at the data.
var typeForm = regexp.MustCompile(`^(?:address|bool|string|bytes(?:[1-9]|[12][0-9]|3[0-2])?|u?int(?:8|16|24|32|40|48|56|64|72|80|88|96|104|112|120|128|` +
	`136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256)|tuple)(?:\[(?:[1-9][0-9]{0,2})?\]){0,2}$`)

func isName(s string) bool {
	return s != "" && len(s) <= maxLabel && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '$'
	})
}

// arguments reads a list of arguments.
func arguments(text string, depth int) (list []abi.ArgumentMarshaling, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("tuples are more than %d deep", maxDepth)
	}
	for text = strings.TrimSpace(text); text != ""; {
		var one string
		if one, text, err = firstArgument(text); err != nil {
			return nil, err
		}
		a := abi.ArgumentMarshaling{}
		if strings.HasPrefix(one, "(") {
			end := strings.LastIndexByte(one, ')')
			if a.Components, err = arguments(one[1:end], depth+1); err != nil {
				return nil, err
			}
			suffix, name, _ := strings.Cut(one[end+1:], " ")
			a.Type, a.Name = "tuple"+suffix, strings.TrimSpace(name)
		} else {
			var ok bool
			if a.Type, a.Name, ok = strings.Cut(one, " "); !ok {
				return nil, fmt.Errorf("argument %.40q has no name", one)
			}
			a.Name = strings.TrimSpace(a.Name)
		}
		switch {
		case !typeForm.MatchString(a.Type):
			return nil, fmt.Errorf("argument %.40q: the type %.40q is not known", a.Name, a.Type)
		case strings.HasPrefix(a.Type, "tuple") && len(a.Components) == 0:
			return nil, fmt.Errorf("argument %.40q: a tuple without members", a.Name)
		}
		if !isName(a.Name) {
			return nil, fmt.Errorf("argument %.40q has no name", one)
		}
		if slices.ContainsFunc(list, func(o abi.ArgumentMarshaling) bool { return abi.ToCamelCase(o.Name) == abi.ToCamelCase(a.Name) }) {
			return nil, fmt.Errorf("two arguments are named %.40q", a.Name)
		}
		if list = append(list, a); len(list) > maxArguments {
			return nil, fmt.Errorf("more than %d arguments", maxArguments)
		}
	}
	return list, nil
}

// firstArgument cuts a list at the first comma that is in no brackets.
func firstArgument(text string) (one, rest string, err error) {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return "", "", errors.New("a bracket closes that was not opened")
			}
		case ',':
			if open == 0 {
				return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), nil
			}
		}
	}
	if open != 0 {
		return "", "", errors.New("a bracket is not closed")
	}
	return strings.TrimSpace(text), "", nil
}
