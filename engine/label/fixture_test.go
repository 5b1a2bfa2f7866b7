package label

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// logEmitters are the addresses of the logs of a receipt.
func logEmitters(t *testing.T, receipt json.RawMessage) []common.Address {
	t.Helper()
	var rc struct {
		Logs []struct{ Address common.Address }
	}
	if err := json.Unmarshal(receipt, &rc); err != nil {
		t.Fatal(err)
	}
	var out []common.Address
	for _, l := range rc.Logs {
		out = append(out, l.Address)
	}
	return out
}
