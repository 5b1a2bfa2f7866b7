package chain

import (
	"strings"
	"testing"
)

const someHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

// TestParseReference: hashes and pages of explorers are read as people copy them.
func TestParseReference(t *testing.T) {
	f := func(text, slug string, ok bool) {
		t.Helper()
		r, err := ParseReference(text)
		got := ""
		if r.Chain != nil {
			got = r.Chain.Slug
		}
		if (err == nil) != ok || ok && r.Hash != someHash || got != slug {
			t.Errorf("%q: %+v on %q, %v", text, r, got, err)
		}
	}
	f(someHash, "", true)
	f(someHash[2:], "", true)
	f("0X"+strings.ToUpper(someHash[2:]), "", true)
	f("  \""+someHash+"\"\n", "", true)
	f("<https://etherscan.io/tx/"+someHash+">", "ethereum-mainnet", true)
	f("https://www.etherscan.io/tx/"+someHash+"?a=b#eventlog", "ethereum-mainnet", true)
	f("etherscan.io/tx/"+someHash, "ethereum-mainnet", true)
	f("https://basescan.org/tx/"+someHash+"/advanced", "base-mainnet", true)
	f("https://BASESCAN.org/tx/"+someHash[2:], "base-mainnet", true)
	f("https://somewhere.example/ethereum/tx/"+someHash, "", true)
	f("https://etherscan.io.somewhere.example/tx/"+someHash, "", true)
	f("https://etherscan.io/address/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "", false)
	f("https://etherscan.io/tx/", "", false)
	f("ftp://etherscan.io/tx/"+someHash, "", false)
	f(someHash+"0", "", false)
	f(someHash[:65], "", false)
	f("0x"+strings.Repeat("g", 64), "", false)
	// The signed transaction of EIP-155.
	const raw = "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
	for _, text := range []string{raw, "0x" + raw, " 0X" + strings.ToUpper(raw) + "\n"} {
		r, err := ParseReference(text)
		if err != nil || r.Hash != "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788" || r.Chain == nil || r.Chain.ID != 1 {
			t.Errorf("%.20q: %+v, %v", text, r, err)
		}
	}
	f(raw[:len(raw)-2], "", false)
	f(raw+"00", "", false)
	f("", "", false)
	f("swap", "", false)
	f("https://etherscan.io/tx/"+someHash+strings.Repeat("/a", 2000), "", false)
	f("https://%zz/tx/"+someHash, "", false)
}

// TestExplorersNameTheirChain: the page of a transaction in each explorer of the table
// names its chain, or no chain where several share it.
func TestExplorersNameTheirChain(t *testing.T) {
	named := 0
	for _, c := range All() {
		if c.Explorer == "" {
			continue
		}
		r, err := ParseReference(c.Explorer + "/tx/" + someHash)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.Slug, err)
		case r.Chain == c:
			named++
		case r.Chain != nil:
			t.Errorf("%s: its page names %s", c.Slug, r.Chain.Slug)
		}
	}
	if named < 80 {
		t.Errorf("%d chains are named by their explorer", named)
	}
	t.Logf("%d of %d chains are named by their explorer", named, len(All()))
}

func FuzzParseReference(f *testing.F) {
	f.Add("https://etherscan.io/tx/" + someHash)
	f.Add("0x")
	f.Add("a://b/" + someHash)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err == nil && (len(r.Hash) != 66 || r.Hash != strings.ToLower(r.Hash)) || err != nil && r != (Reference{}) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	})
}
