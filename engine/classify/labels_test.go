package classify_test

import (
	"slices"
	"testing"

	"txlens/engine/label"
	"txlens/internal/testkit/scene"
)

// TestReportedAddress: a list of frauds raises a flag and changes nothing else, neither
// the type nor what is said of an approval.
func TestReportedAddress(t *testing.T) {
	s := scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)", scene.Bot, maxUint)).
		Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Bot}, maxUint)
	plain, _ := raised(t, s.Facts(t))
	reported := s.Facts(t)
	reported.Labels[scene.Bot] = label.Label{Name: "Reported as a scam", Category: label.Reported, Source: "scamsniffer", Confidence: label.Scraped}
	flags, all := raised(t, reported)
	if want := append(slices.Clone(plain), "reported_address"); !slices.Equal(flags, want) {
		t.Errorf("%v, want %v\n%s", flags, want, all)
	}
	if !slices.Contains(plain, "unlimited_approval") {
		t.Errorf("an unlimited approval raises %v", plain)
	}
}

// TestUnreviewedLabel: a label that nobody reviewed names no protocol, one of a reviewed
// list does.
func TestUnreviewedLabel(t *testing.T) {
	f := func(c label.Confidence, want string) {
		t.Helper()
		facts := scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000).Facts(t)
		facts.Labels[scene.Vault] = label.Label{Name: "Farm: Vault", Category: "yield", Protocol: "some_farm", Source: "list", Confidence: c}
		got := ""
		if v := scene.Judge(facts); v.Protocol != nil {
			got = *v.Protocol
		}
		if got != want {
			t.Errorf("confidence %d: protocol %q, want %q", c, got, want)
		}
	}
	f(label.Scraped, "")
	f(label.Curated, "some_farm")
	f(label.Official, "some_farm")
}
