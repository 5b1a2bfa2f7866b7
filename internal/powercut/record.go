package powercut

import (
	"errors"
	"os"
	"os/exec"
)

// ErrUnsupported: this machine does not let a process be traced.
var ErrUnsupported = errors.New("processes cannot be traced here")

// RequireEnv, set to anything, makes it a failure that processes cannot be traced.
const RequireEnv = "TXLENS_REQUIRE_PTRACE"

// T is what Record needs of a *testing.T.
type T interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Record is Run for tests: it ends the test on an error, and skips it where processes
// cannot be traced.
func Record(t T, root string, cmd *exec.Cmd) *Recording {
	t.Helper()
	rec, err := Run(root, cmd)
	switch {
	case err == nil:
	case errors.Is(err, ErrUnsupported) && os.Getenv(RequireEnv) == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	return rec
}
