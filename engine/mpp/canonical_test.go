package mpp

import (
	"strings"
	"testing"
)

// TestConformance_A_JCS holds the library that canonicalizes to RFC 8785: its own
// examples, and what JavaScript prints.
func TestConformance_A_JCS(t *testing.T) {
	f := func(doc, want string) {
		t.Helper()
		got, err := Canonical([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", doc, got, err)
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: not stable: %s, %v", doc, again, err)
		}
	}
	f(`{"numbers":[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
	   "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
		`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`)
	f("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","+
		"\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
		"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\","+
			"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}")
	f(`{"n":[1e21,1e20,123456789012345680000,-0,0.0,-0.0,1e-6,1e-7,9007199254740993,5e-324,1e-400,1.7976931348623157e308]}`,
		`{"n":[1e+21,100000000000000000000,123456789012345680000,0,0,0,0.000001,1e-7,9007199254740992,5e-324,0,1.7976931348623157e+308]}`)
	f("{\"s\":\"<tag>&'\u2028\u2029\u007f\\b\\f\\n\\r\\t\\u0000\\u001f\"}", "{\"s\":\"<tag>&'\u2028\u2029\u007f\\b\\f\\n\\r\\t\\u0000\\u001f\"}")
	f(` { "b" : [ ] , "a" : { } } `, `{"a":{},"b":[]}`)

	for _, bad := range []string{``, `1`, `[]`, `"x"`, `null`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}",
		`{"a":1e400}`, `{"a":[-1e309]}`, `{"a":01}`, `{"a":NaN}`, `{"a":1}{}`, `{"a":1`, `{a:1}`, `{"a":1,}`,
		strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat(`}`, 9), `{"a":"` + strings.Repeat("x", maxDocument) + `"}`} {
		if got, err := Canonical([]byte(bad)); err == nil {
			t.Errorf("%s: %s", clip(bad), got)
		}
	}
}

func TestOpaque(t *testing.T) {
	s, err := EncodeOpaque(map[string]string{"b": "<é>", "a": "1"})
	if err != nil || s != encode64([]byte(`{"a":"1","b":"<é>"}`)) {
		t.Fatalf("%s, %v", s, err)
	}
	m, err := DecodeOpaque(s)
	if err != nil || len(m) != 2 || m["a"] != "1" || m["b"] != "<é>" {
		t.Errorf("%v, %v", m, err)
	}
	for _, bad := range []string{"", "e30!", encode64([]byte(`[]`)), encode64([]byte(`{"a":1}`)), encode64([]byte(`{"a":{"b":"c"}}`)), encode64([]byte(`{"a":"1","a":"2"}`))} {
		if m, err := DecodeOpaque(bad); err == nil {
			t.Errorf("%s: %v", bad, m)
		}
	}
}

func TestConformance_B_Base64Variants(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		got, err := decode64(s, 64)
		if err != nil || string(got) != want {
			t.Errorf("%s: %x, %v", s, got, err)
		}
	}
	f("_-8", "\xff\xef")
	f("/+8=", "\xff\xef")
	f("_+8=", "\xff\xef")
	f("Zg==", "f")
	f("Zg", "f")
	f("", "")
	for _, bad := range []string{"Z", "Zg===", "Z g", "Zg\n", "Zg\r\n", "Z=g", "é", strings.Repeat("A", 65)} {
		if got, err := decode64(bad, 64); err == nil {
			t.Errorf("%q: %x", bad, got)
		}
	}
}
