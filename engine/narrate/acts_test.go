package narrate_test

import (
	"bytes"
	"fmt"
	"testing"

	"txlens/testkit/golden"
	"txlens/testkit/scene"
)

// TestActs holds the text of a transaction of every act that the registry knows, in the forms
// that it takes.
func TestActs(t *testing.T) {
	var b bytes.Buffer
	for _, m := range scene.Acts(t) {
		fmt.Fprintf(&b, "%s, %s\n    %s\n", m.Act, m.Name, scene.Judge(m.Scene.Facts(t)).Brief())
	}
	golden.Compare(t, "testdata/acts.txt", b.Bytes())
}
