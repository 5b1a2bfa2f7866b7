//go:build !postgres

package stores_test

import (
	"strings"
	"testing"

	"txlens/storage/stores"
)

// TestBuiltWithoutPostgres: the error says how to build the program.
func TestBuiltWithoutPostgres(t *testing.T) {
	const url = "postgres://user:hidden@host/db"
	_, parsed := stores.Parse(url)
	_, opened := stores.Open(t.Context(), stores.Location{URL: url}, stores.Options{})
	_, inspected := stores.Inspect(t.Context(), stores.Location{URL: url})
	for _, err := range []error{parsed, opened, inspected} {
		if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "go build -tags postgres") {
			t.Error(err)
		}
	}
}
