package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"txlens/engine/api"
	"txlens/storage/stores"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Each setting of serve is a flag, a variable of the environment and a key of the
// file, in this order of precedence. The key is the name of the flag; variables are
// TXLENS_ and the name. Only unsettable flags are no settings.
var unsettable = []string{"help", "help-all", "version", "config", "check"}

// settingsOf lists the flags of a command that a file may set.
func settingsOf(node *kong.Node) (flags []*kong.Flag) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if !slices.Contains(unsettable, f.Name) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// addSettings adds the file that --config of the selected command names. It may set every flag of
// server, the node of serve.
func addSettings(k *kong.Context, server *kong.Node) error {
	for _, group := range k.Selected().AllFlags(false) {
		for _, f := range group {
			path, _ := k.FlagValue(f).(string)
			if f.Name != "config" || path == "" {
				continue
			}
			s, err := readSettings(path, server)
			if err != nil {
				return err
			}
			k.AddResolver(s)
		}
	}
	return nil
}

// maxSettings is the largest size of the file in bytes.
const maxSettings = 1 << 20

// settingsFile is a file of settings in TOML.
type settingsFile struct {
	path   string
	values map[string]any
	lines  map[string]int // of the keys
}

// readSettings reads a file. A key that is no setting of the command is an error.
func readSettings(path string, node *kong.Node) (*settingsFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	if len(data) > maxSettings {
		return nil, fmt.Errorf("--config: %s is larger than 1 MiB", path)
	}
	return parseSettings(path, bytes.TrimPrefix(data, []byte(api.ByteOrderMark)), settingsOf(node))
}

func parseSettings(path string, data []byte, flags []*kong.Flag) (*settingsFile, error) {
	s := &settingsFile{path: path, values: map[string]any{}, lines: keyLines(data)}
	if err := toml.Unmarshal(data, &s.values); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			row, _ := at.Position()
			return nil, fmt.Errorf("%s:%d: %w", path, row, err)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	names := map[string]bool{}
	for _, f := range flags {
		names[f.Name] = true
	}
	var unknown []string
	for key := range s.values {
		if !names[key] {
			unknown = append(unknown, key)
		}
	}
	slices.SortFunc(unknown, func(a, b string) int { return s.lines[a] - s.lines[b] })
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%s: %q is no setting", s.at(unknown[0]), unknown[0])
	}
	return s, nil
}

// at returns the place of a key in the file.
func (s *settingsFile) at(key string) string {
	if line := s.lines[key]; line > 0 {
		return fmt.Sprintf("%s:%d", s.path, line)
	}
	return s.path
}

// keyLines returns the line of each key of the top level, which the decoder does not give.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	top := true
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment || e.Kind == unstable.KeyValue && !top {
			continue
		}
		top = e.Kind == unstable.KeyValue
		for it := e.Key(); it.Next(); {
			key := it.Node().Data
			if name := string(key); lines[name] == 0 {
				lines[name] = p.Shape(it.Node().Raw).Start.Line
			}
			break
		}
	}
	return lines
}

var _ kong.Resolver = (*settingsFile)(nil)

// Validate implements kong.Resolver.
func (s *settingsFile) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the value of a flag, unless the environment
// has one. It also parses the value, so that an error can name the line of the file.
func (s *settingsFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	v, ok := s.values[flag.Name]
	if !ok || slices.Contains(unsettable, flag.Name) || fromEnv(flag) != "" {
		return nil, nil
	}
	v, err := settingValue(flag, v)
	if err == nil {
		err = flag.Parse(kong.Scan().PushTyped(v, kong.FlagValueToken), reflect.New(flag.Target.Type()).Elem())
		err = errors.Unwrap(err) // kong adds the name of the flag
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.at(flag.Name), err)
	}
	return v, nil
}

// settingValue converts a value of TOML to the form that kong expects for the flag.
func settingValue(flag *kong.Flag, v any) (any, error) {
	kind := flag.Target.Kind()
	switch v := v.(type) {
	case string:
		if kind == reflect.Slice || kind == reflect.Map {
			return nil, errors.New("want " + map[reflect.Kind]string{reflect.Slice: "a list of strings", reflect.Map: "a table"}[kind])
		}
	case bool:
		if kind != reflect.Bool {
			return nil, errors.New("it is not true or false")
		}
	case int64:
		if kind != reflect.Int || flag.Target.Type().String() == "time.Duration" {
			return nil, fmt.Errorf("want a string such as %q", flag.Default)
		}
	case []any:
		for _, e := range v {
			if _, ok := e.(string); !ok || kind != reflect.Slice {
				return nil, errors.New("a list of strings is for settings that may be repeated")
			}
		}
	case map[string]any:
		if kind != reflect.Map {
			return nil, errors.New("it is no table")
		}
		words := map[string]any{}
		for key, e := range v {
			words[key] = fmt.Sprint(e)
		}
		return words, nil
	default:
		return nil, fmt.Errorf("a value of this kind (%T) is no setting", v)
	}
	return v, nil
}

// fromEnv returns the name of the environment variable that sets a flag; empty if none
// does.
func fromEnv(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name
		}
	}
	return ""
}

// masked formats a value without its secret parts, which the tag of the flag names.
func masked(flag *kong.Flag) string {
	var parts []string
	switch v := flag.Target.Interface().(type) {
	case []string:
		for _, e := range v {
			parts = append(parts, maskOne(flag.Tag.Get("secret"), e))
		}
	case map[string]string:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+"="+v[key])
		}
	default:
		if text := fmt.Sprint(v); text != "" {
			parts = append(parts, maskOne(flag.Tag.Get("secret"), text))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func maskOne(secret, text string) string {
	switch secret {
	case "all":
		return "(hidden)"
	case "url":
		return maskURL(text)
	case "store":
		if at, err := stores.Parse(text); err == nil && at.Dir != "" {
			return text
		}
		return maskURL(text)
	case "endpoint":
		name, u, ok := strings.Cut(text, "=")
		if !ok {
			return "(hidden)"
		}
		return name + "=" + maskURL(strings.TrimSpace(u))
	}
	return text
}

// maskURL keeps scheme and host only: user info, path and query may contain keys.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "(hidden)"
	}
	out := u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		out += "/…"
	}
	return out
}
