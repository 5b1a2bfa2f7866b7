package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseABI(t *testing.T) {
	f := func(text string, methods, events int) {
		t.Helper()
		a, err := ParseABI([]byte(text))
		if err != nil {
			t.Errorf("%.80s: %v", text, err)
			return
		}
		if len(a.Methods) != methods || len(a.Events) != events {
			t.Errorf("%.80s: %d functions and %d events", text, len(a.Methods), len(a.Events))
		}
	}
	f(vaultABI, 2, 1)
	f(`[]`, 0, 0)
	f(`{"contractName":"X","abi":`+vaultABI+`}`, 2, 1)
	f(`[{"name":"old","inputs":[{"name":"a","type":"uint256"}],"constant":true}]`, 1, 0) // no type: a function
	f(`[{"type":"function","name":"f","inputs":[{"name":"","type":"tuple","components":[{"name":"","type":"uint8"},{"name":"_","type":"bool"}]}]}]`, 1, 0)
	f(`[{"type":"function","name":"f","inputs":[]},{"type":"function","name":"f","inputs":[{"name":"a","type":"bool"}]}]`, 2, 0)
	// Strange entries cost only themselves.
	for _, bad := range []string{`7`, `"x"`, `{"type":"struct","name":"S"}`, `{"type":"function","name":"not a name"}`, `{"type":"function","name":"f","inputs":7}`,
		`{"type":"function","name":"f","inputs":[{"type":"uint256[99999999999999999999]"}]}`, `{"type":"function","name":"f","inputs":[{"type":"uint8[4000000000][4000000000]"}]}`,
		`{"type":"function","name":"f","inputs":[{"type":"tuple"}]}`, `{"type":"function","name":"f","inputs":[{"type":"fixed128x18"}]}`, `{"type":"function","name":"f","inputs":[{"type":"uint7"}]}`,
		`{"type":"function","name":"f","inputs":[{"type":"uint256[0]"}]}`, `{"type":"event","name":"E","inputs":[{"type":"` + strings.Repeat("[", 300) + `"}]}`} {
		f(`[`+bad+`,{"type":"function","name":"good","inputs":[]}]`, 1, 0)
	}
}

func TestParseABIRefuses(t *testing.T) {
	f := func(text string, want error) {
		t.Helper()
		if _, err := ParseABI([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.60s: got %v, want %v", text, err, want)
		}
	}
	f(``, ErrNoABI)
	f(`null`, ErrNoABI)
	f(`"Contract source code not verified"`, ErrNoABI)
	f(`{"abi":null}`, ErrNoABI)
	f(`[{"type":"nothing"}]`, ErrNoABI)
	f(`[`, ErrNoABI)
	f(strings.Repeat(`[`, 1<<20), ErrNoABI)
	f(strings.Repeat(` `, maxABI+1), ErrABITooLarge)
	f(`[`+strings.Repeat(`{},`, maxEntries)+`{}]`, ErrABITooLarge)
	deep := strings.Repeat(`{"type":"tuple","name":"a","components":[`, 40) + `{"type":"bool"}` + strings.Repeat(`]}`, 40)
	f(`[{"type":"function","name":"f","inputs":[`+deep+`]}]`, ErrNoABI)
	wide := strings.Repeat(`{"type":"bool"},`, maxComponents) + `{"type":"bool"}`
	f(`[{"type":"function","name":"f","inputs":[`+wide+`]}]`, ErrABITooLarge)
}

// FuzzABI: whatever the ABI, it is refused or can be compiled and used on bytes.
func FuzzABI(f *testing.F) {
	f.Add([]byte(vaultABI), []byte{1, 2, 3, 4})
	f.Add([]byte(`[{"type":"function","name":"f","inputs":[{"name":"x","type":"tuple[2][]","components":[{"name":"a b","type":"string"}]}]}]`), make([]byte, 320))
	f.Fuzz(func(t *testing.T, text, data []byte) {
		a, err := ParseABI(text)
		if err != nil {
			return
		}
		v := newVerified(&Contract{ABI: a})
		for sel := range v.functions {
			for _, s := range v.find(tableKey{'f', selectorKey(sel)}) {
				newValues().read(s.Inputs, s.Head, data, lenient)
			}
		}
		for id := range v.events {
			v.find(tableKey{'e', id})
		}
	})
}

// Overloads keep the keys that abi gives them, and thousands of one name cost no
// more than as many names.
func TestOverloads(t *testing.T) {
	entry := func(name string) string { return `{"type":"function","name":"` + name + `","inputs":[]},` }
	a, err := ParseABI([]byte(`[` + entry("f") + entry("f0") + entry("f") + entry("f") + `{"type":"event","name":"f","inputs":[]}]`))
	if err != nil || len(a.Methods) != 4 || a.Methods["f"].RawName != "f" || a.Methods["f0"].RawName != "f0" || a.Methods["f1"].RawName != "f" || a.Methods["f2"].RawName != "f" || len(a.Events) != 1 {
		t.Errorf("%v, %+v", err, a)
	}
	// A name that is tried costs memory: 4,900 that try all before them cost 12 million.
	cost := func(text string) float64 {
		return testing.AllocsPerRun(1, func() {
			if a, err := ParseABI([]byte(text)); err != nil || len(a.Methods) != 4900 {
				t.Error(err)
			}
		})
	}
	var apart strings.Builder
	for i := range 4900 {
		apart.WriteString(entry(fmt.Sprint("g", i, "x")))
	}
	same, different := cost(`[`+strings.Repeat(entry("g"), 4900)+`{"type":"receive"}]`), cost(`[`+apart.String()+`{"type":"receive"}]`)
	if same > 4*different {
		t.Errorf("%.0f allocations for one name, %.0f for as many names", same, different)
	}
}
