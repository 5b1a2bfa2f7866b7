package laws

import (
	"slices"
	"strings"
	"testing"
)

// layers are the top folders of the program, the upper ones first. A package imports those of
// its own folder and of the layers below; two folders of one layer do not import each other.
var layers = [][]string{{"cmd"}, {"app", "explain"}, {"transport", "storage"}, {"actors"}, {"engine"}, {"internal"}}

// aboveAll may import the whole program, and no package of a layer imports them outside of
// tests, generators, and the packages that hold tests for others.
var aboveAll = []string{"testkit", "bench", "e2e", "zoo"}

// runsTests are the packages of the layers that may import testkit in files that are no tests.
func runsTests(pkg string) bool {
	return pkg == "storage/storagetest" || pkg == "cmd/txlens/demogen" || strings.HasSuffix(pkg, "/gen")
}

func layerOf(pkg string) int {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.IndexFunc(layers, func(folders []string) bool { return slices.Contains(folders, top) })
}

// againstLayers says what is wrong if a package imports another one of the project, or "".
func againstLayers(pkg, imported string) string {
	from, to := layerOf(pkg), layerOf(imported)
	top, _, _ := strings.Cut(pkg, "/")
	toTop, _, _ := strings.Cut(imported, "/")
	switch {
	case from < 0 && slices.Contains(aboveAll, top):
		return ""
	case from < 0:
		return "lies in a folder of no layer; move it, or add the folder to layers"
	case slices.Contains(aboveAll, toTop):
		if runsTests(pkg) {
			return ""
		}
		return "is part of the program, and " + toTop + " is for tests; import it in a _test.go file, or move what the program needs out of it"
	case top == toTop || from < to:
		return ""
	}
	return "lies beside or below it; move the code down to a layer that both may import, or declare an interface where it is used"
}

// TestLayers: no import runs up from one top folder to another, and nothing of the program
// imports what tests share.
func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, nil, func(s *source) {
		for _, path := range s.imports() {
			own, inside := strings.CutPrefix(path, "txlens/")
			if !inside {
				continue
			}
			seen[s.folder()] = true
			if why := againstLayers(s.folder(), own); why != "" {
				t.Errorf("%s imports %s: %s %s", s.path, own, s.folder(), why)
			}
		}
	})
	if len(seen) < 60 {
		t.Errorf("imports of %d packages were read; the law must see all of them", len(seen))
	}

	f := func(pkg, imported string, allowed bool) {
		t.Helper()
		if why := againstLayers(pkg, imported); (why == "") != allowed {
			t.Errorf("%s imports %s: %q, want allowed %v", pkg, imported, why, allowed)
		}
	}
	f("cmd/txlens", "app", true)
	f("app", "storage/stores", true)
	f("app/settings", "app", true)
	f("engine/flow", "engine/trace", true)
	f("testkit/service", "app", true)
	f("storage/storagetest", "testkit/size", true)
	f("engine/label/gen", "testkit/size", true)
	f("app", "cmd/txlens", false)
	f("storage", "transport/wire", false)
	f("transport", "storage", false)
	f("actors/job", "storage", false)
	f("engine/report", "actors/job", false)
	f("internal/durable", "engine/api", false)
	f("engine/report", "testkit/size", false)
	f("app", "zoo", false)
	f("tools", "engine/api", false)
}
