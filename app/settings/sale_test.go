package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestSettleTokens: tokens are taken in their order, and each once.
func TestSettleTokens(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("1", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(tokens []string, fault string) {
		t.Helper()
		s := Sale{SettleRPC: []string{"http://127.0.0.1:1"}, SettleToken: tokens, SettleKeyFile: key, MinDeposit: "2", Suggested: "16", Exposure: "0.25", SettleAt: "5"}
		o, err := s.Options()
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%v: %v, want %q", tokens, err, fault)
			}
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", tokens, err)
		}
		var want []common.Address
		for _, text := range tokens {
			want = append(want, common.HexToAddress(text))
		}
		if got := append([]common.Address{o.Token}, o.OtherTokens...); !slices.Equal(got, want) {
			t.Errorf("%v: %v", tokens, got)
		}
	}
	a, b := "0x20C000000000000000000000b9537d11c60E8b50", "0x20c0000000000000000000006a37DA5C996874BE"
	f([]string{a}, "")
	f([]string{a, b}, "")
	f([]string{b, a}, "")
	f(nil, "name the token")
	f([]string{a, "0x12"}, "no address")
	f([]string{a, b, strings.ToLower(a)}, "is named twice")
	f([]string{"0x01", "0x02", "0x03", "0x04", "0x05"}, "at most 4")
}
