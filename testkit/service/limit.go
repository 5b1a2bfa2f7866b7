package service

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// patience is how long a test waits for one answer. It is reached only where something hangs,
// however slow the machine is.
const patience = 2 * time.Minute

// Limited is a context that ends with the test, or earlier if the test waits too long. The
// error then says so, where an endless wait would only show when the whole package has run
// out of time.
func Limited(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("%s waited for %s", tb.Name(), patience))
	tb.Cleanup(cancel)
	return ctx
}
