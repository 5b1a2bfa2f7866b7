package recordid

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestTimeOf: only an id of New says when it was made.
func TestTimeOf(t *testing.T) {
	before := time.Now().Add(-time.Second)
	if at, ok := TimeOf(New()); !ok || at.Before(before) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("a new id: %s, %v", at, ok)
	}
	for _, id := range []string{"", "x", uuid.NewString(), uuid.Nil.String(), New() + "0"} {
		if at, ok := TimeOf(id); ok {
			t.Errorf("%q: %s", id, at)
		}
	}
}
