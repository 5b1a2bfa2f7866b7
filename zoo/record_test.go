package zoo

import (
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// recordDir is where the evidence of the exploits and of their twins is written to: the
// triage is tested on it where there is no node.
var recordDir = flag.String("record", "", "directory to write the evidence of the exploits and their twins to")

// recorder is nil, which records nothing, unless the flag is set.
func recorder() *upstream.Recorder {
	if *recordDir == "" {
		return nil
	}
	return upstream.NewRecorder()
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// keep writes what was recorded of an exploit, or of a twin, by the name of the specimen.
func keep(tb testing.TB, rec *upstream.Recorder, hash common.Hash, about string) {
	tb.Helper()
	_, name, _ := strings.Cut(tb.Name(), "/")
	for i := range exploitSpecimens {
		s := &exploitSpecimens[i]
		if rec == nil || strings.ReplaceAll(s.name, " ", "_") != name {
			continue
		}
		rec.SetMeta(upstream.Meta{TxHash: hash.Hex(), ChainID: 1, Context: about})
		file := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-") + ".txlens"
		if err := rec.Bundle().WriteFile(filepath.Join(*recordDir, file)); err != nil {
			tb.Fatal(err)
		}
	}
}
