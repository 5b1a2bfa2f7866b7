package report

import (
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestLegend: what the sentences abbreviate stands in full below them, once.
func TestLegend(t *testing.T) {
	a, b := api.Addr{0: 0x12, 1: 0x34, 18: 0xab, 19: 0xcd}, api.Addr{0: 0x99}
	r := &api.Result{
		Summary:   "Sent 1 ETH to 0x1234…abcd",
		Steps:     []string{"0x1234…abcd and 0x9900…0000 and 0xffff…ffff and …", "0x9900…0000."},
		Addresses: []api.Address{{Address: a, Role: "recipient"}, {Address: b, Label: "A name", Role: "sender"}},
	}
	var out strings.Builder
	if err := Text(&out, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	_, legend, ok := strings.Cut(out.String(), "\nAddresses\n")
	if !ok || !strings.Contains(legend, "0x1234…abcd "+a.String()+"\n") || strings.Count(legend, b.String()+" A name\n") != 1 || strings.Contains(legend, "ffff") {
		t.Errorf("legend: %q in\n%s", legend, &out)
	}
}
