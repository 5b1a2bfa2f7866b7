// Command gen leaves sources out of the files of package protocol: addresses that nobody else
// publishes go, with the lines about them. It writes the files in place, and prints what went:
//
//	go run ./engine/protocol/gen -without rotki
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "engine/protocol", "folder of package protocol")
	var without []string
	flag.Func("without", "source to leave out, as docs/labels.md names it; may be repeated", func(s string) error {
		without = append(without, s)
		return nil
	})
	flag.Parse()
	if err := run(*dir, without); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, without []string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read protocol: %w", err)
		}
		kept, gone := leaveOut(string(text), without)
		for _, line := range gone {
			log.Printf("%s: %s", filepath.Base(path), line)
		}
		if kept == string(text) {
			continue
		}
		if err := os.WriteFile(path, []byte(kept), 0o644); err != nil {
			return fmt.Errorf("write protocol: %w", err)
		}
	}
	return nil
}

// leaveOut returns the text of a file without some sources, and the addresses that went. Those
// without a source stay.
func leaveOut(text string, without []string) (kept string, gone []string) {
	var b strings.Builder
	dropping, about := false, false // addresses of this block; the lines about the last address
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "source":
			list := slices.DeleteFunc(strings.Fields(rest), func(id string) bool { return slices.Contains(without, id) })
			dropping, about = len(list) == 0, false
			if dropping {
				continue
			}
			line = "source " + strings.Join(list, " ") + "\n"
		case strings.HasPrefix(line, "\t"):
			if about {
				continue
			}
		case dropping && (word == "contract" || word == "deployment"):
			gone, about = append(gone, strings.TrimSpace(line)), true
			continue
		default:
			about = false
			dropping = dropping && line != "\n"
		}
		b.WriteString(line)
	}
	return b.String(), gone
}
