package api

import (
	"strings"
	"testing"
)

// searchedSecrets is HideSecrets without its hints.
func searchedSecrets(text string) string {
	text = urlInText.ReplaceAllString(text, "URL")
	text = keyInText.ReplaceAllString(text, "…")
	text = quotedSecret.ReplaceAllString(text, `$1$2"…"`)
	return plainSecret.ReplaceAllString(text, `$1$2…`)
}

func TestHideSecrets(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := HideSecrets(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	f(`{"method":"eth_call","params":["0x70a08231","latest"]}`, `{"method":"eth_call","params":["0x70a08231","latest"]}`)
	f("see HTTPS://user:pass@example.org/v1 now", "see URL now")
	f("sk-abcdefgh", "…")
	f("PK_ABCDEFGH", "…")
	f("Key-abcdefgh", "…")
	f("token_abcdefgh", "…")
	f("Bearer abc.def", "…")
	f("to\u212aen_abcdefgh", "…") // the sign of kelvin
	f(`{"apiKey":"abc"}`, `{"apiKey":"…"}`)
	f(`{"API_KEY":"abc"}`, `{"API_KEY":"…"}`)
	f("Authorization: abc", "Authorization: …")
	f("PASSWORD=abc", "PASSWORD=…")
	f(`{"mnemonic":"abc def"}`, `{"mnemonic":"…"}`)
	f("pa\u017fsword=abc", "pa\u017fsword=…") // a long s
	f("secret=abc", "secret=…")
	f("tokens moved", "tokens moved")
	f("", "")
}

// FuzzHideSecrets: the hints change nothing that is found.
func FuzzHideSecrets(f *testing.F) {
	for _, text := range []string{"sk-abcdefgh", "a://b", "api_key=1", "\u212aEY=1", "bearer x", "private-key: x", "mnemonic=a", "password:", strings.Repeat("f", 99)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := HideSecrets(text), searchedSecrets(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}
