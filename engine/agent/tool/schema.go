package tool

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The input of a tool is a struct with these tags: json names a member, doc tells
// the model what it is, need says that it must be there, min and max bound an
// integer, max bounds the elements of a list and the characters of a text, and
// values lists the texts that are allowed, with bars between.

// leaves are the schemas of types that are JSON strings.
var leaves = map[reflect.Type]string{
	reflect.TypeFor[Address](): `"type":"string","pattern":"^0x[0-9a-fA-F]{40}$"`,
	reflect.TypeFor[Word]():    `"type":"string","pattern":"^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$"`,
	reflect.TypeFor[Amount]():  `"type":"string","pattern":"^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$"`,
	reflect.TypeFor[Path]():    `"type":"string","pattern":"^0(\\.[0-9]+)*$"`,
	reflect.TypeFor[Bytes]():   `"type":"string","pattern":"^0x([0-9a-fA-F]{2})*$"`,
}

// schemaOf returns the JSON Schema of a type; the same type gives the same bytes.
func schemaOf(t reflect.Type, tag reflect.StructTag) string {
	body := ""
	switch leaf, ok := leaves[bare(t)]; {
	case ok:
		body = leaf
	case bare(t).Kind() == reflect.Struct:
		body = objectSchema(bare(t))
	case t.Kind() == reflect.Slice:
		body = `"type":"array","maxItems":` + tag.Get("max") + `,"items":` + schemaOf(t.Elem(), "")
	case bare(t).Kind() == reflect.Int:
		body = `"type":"integer","minimum":` + tag.Get("min") + `,"maximum":` + tag.Get("max")
	case bare(t).Kind() == reflect.Bool:
		body = `"type":"boolean"`
	case tag.Get("values") != "":
		body = `"type":"string","enum":["` + strings.ReplaceAll(tag.Get("values"), "|", `","`) + `"]`
	case bare(t).Kind() == reflect.String && tag == "":
		body = `"type":"string"` // an element of a list
	case bare(t).Kind() == reflect.String:
		body = `"type":"string","maxLength":` + tag.Get("max")
	default:
		panic("tool: no schema for " + t.String()) // a new input type: the tests call every tool's
	}
	if doc := tag.Get("doc"); doc != "" {
		quoted, _ := json.Marshal(doc) // our own words
		body += `,"description":` + string(quoted)
	}
	return "{" + body + "}"
}

func objectSchema(t reflect.Type) string {
	var props, needed []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		props = append(props, `"`+name+`":`+schemaOf(f.Type, f.Tag))
		if _, need := f.Tag.Lookup("need"); need {
			needed = append(needed, `"`+name+`"`)
		}
	}
	return `"type":"object","additionalProperties":false,"required":[` + strings.Join(
		needed,
		",",
	) + `],"properties":{` + strings.Join(
		props,
		",",
	) + `}`
}

func bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// checkForm validates a parsed value against the tags of its type.
func checkForm(t reflect.Type, at string, v reflect.Value, raw jsontext.Value) error {
	if _, ok := leaves[t]; ok || t.Kind() != reflect.Struct {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("%s: want a JSON object", at)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		given, ok := members[name]
		if _, need := f.Tag.Lookup("need"); !ok && need {
			return fmt.Errorf("%s/%s is missing", at, name)
		}
		if !ok || given.Kind() == 'n' {
			continue
		}
		if err := checkMember(f, at+"/"+name, v.Field(i), given); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(f reflect.StructField, at string, v reflect.Value, raw jsontext.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	_, leaf := leaves[v.Type()]
	switch {
	case leaf:
		return nil
	case v.Kind() == reflect.Struct:
		return checkForm(v.Type(), at, v, raw)
	case v.Kind() == reflect.Slice:
		return checkList(f, at, v, raw)
	case v.Kind() == reflect.Int:
		if n := v.Int(); n < bound(f, "min") || n > bound(f, "max") {
			return fmt.Errorf("%s: want %d to %d", at, bound(f, "min"), bound(f, "max"))
		}
	case f.Tag.Get("values") != "":
		if values := strings.Split(f.Tag.Get("values"), "|"); !contains(values, v.String()) {
			return fmt.Errorf("%s: want one of %s", at, strings.Join(values, ", "))
		}
	case v.Kind() == reflect.String:
		if most := bound(f, "max"); int64(utf8.RuneCountInString(v.String())) > most {
			return fmt.Errorf("%s: want at most %d characters", at, most)
		}
	}
	return nil
}

func checkList(f reflect.StructField, at string, v reflect.Value, raw jsontext.Value) error {
	var items []jsontext.Value
	if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("%s: want a JSON array", at)
	}
	if most := bound(f, "max"); int64(len(items)) > most {
		return fmt.Errorf("%s: want at most %d elements", at, most)
	}
	for i := range items {
		if err := checkForm(v.Type().Elem(), at+"/"+strconv.Itoa(i), v.Index(i), items[i]); err != nil {
			return err
		}
	}
	return nil
}

func bound(f reflect.StructField, tag string) int64 {
	n, err := strconv.ParseInt(f.Tag.Get(tag), 10, 64)
	if err != nil {
		panic("tool: " + f.Name + " has no " + tag) // the tests call every tool's
	}
	return n
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
