package classify_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"txlens/testkit/golden"
	"txlens/testkit/scene"
)

// usual finds the lines of a verdict that are alike for all acts.
var usual = regexp.MustCompile(`(?m)^  (because|roles|out|in) .*\n`)

// TestActs holds the verdict on a transaction of every act that the registry knows.
func TestActs(t *testing.T) {
	var b bytes.Buffer
	for _, m := range scene.Acts(t) {
		fmt.Fprintf(&b, "%s, %s\n%s", m.Act, m.Name, usual.ReplaceAllString(scene.Judge(m.Scene.Facts(t)).Decided()+"\n", ""))
	}
	golden.Compare(t, "testdata/acts.txt", b.Bytes())
}
