package facts_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/engine/facts"
	"txlens/testkit/golden"
	"txlens/testkit/scene"
	"txlens/testkit/specimen"
)

// plain are the lines of a reading that say nothing of an act where they are as in a call that does
// nothing.
var plain = []string{"Actor: 0xa11c…a11c", "Actors: ", "Entry: ", "HasTo: ", "Frame: ", "CalledContracts: ", "PartyAndActor: ", "ProducerPayment: 0", "FailureOrigin: ",
	"is: [IsSearcher=true]", "Decimals of ", "layout "}

// without drops the lines that begin with one of the words.
func without(text string, words []string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(strings.TrimSpace(line), w) })
	}), "\n")
}

// TestActs holds the reading of a transaction of every act that the registry knows.
func TestActs(t *testing.T) {
	var b bytes.Buffer
	for _, m := range scene.Acts(t) {
		fmt.Fprintf(&b, "%s, %s\n%s\n", m.Act, m.Name, without(scene.Reading(facts.Read(m.Scene.Facts(t))), plain))
	}
	golden.Compare(t, "testdata/acts.txt", b.Bytes())
}

// TestSpecimens holds the reading of the exploits and twins that the checks are tested with, which
// ran on a node.
func TestSpecimens(t *testing.T) {
	files, err := filepath.Glob("../check/testdata/*.txlens")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recorded specimens: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txlens")
		t.Run(name, func(t *testing.T) {
			s := specimen.Read(t, file)
			a := facts.Read(scene.Compose(s.Chain, s.Known.Tx, s.Known.Receipt, s.Known.Block, s.Traced.Tree))
			golden.Compare(t, "testdata/specimens/"+name+".txt", []byte(scene.Reading(a)+"\n"))
		})
	}
}
