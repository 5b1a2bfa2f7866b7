package app_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"txlens/app"
	"txlens/testkit/service"
)

// documentedFiles are the rows of the table of files in the document of operators: a pattern of the
// name, and the mode.
func documentedFiles(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`(?: in it)? \\| (0[0-7]{3}) \\|").FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	return rows
}

// TestFilesOfServer: a running server writes the files of the table and no others, each with its mode,
// in folders that nobody else enters.
func TestFilesOfServer(t *testing.T) {
	rows := documentedFiles(t)
	root := t.TempDir()
	data, record := filepath.Join(root, "data"), filepath.Join(root, "record")
	scene := service.NewScene(t)
	args := append(service.RPCFlags(scene.Flags), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data", data, "--record", record)
	var log service.LogBuffer
	o, err := service.ServerOptions(&log, args...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := app.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	resp, err := http.Post("http://"+s.Address().String()+"/explain", "application/json", strings.NewReader(fmt.Sprintf(`{"txHash":"%s","chainId":1}`, service.SceneHash)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	found := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fmt.Sprintf("%04o", info.Mode().Perm())
		if d.IsDir() {
			if mode != "0700" {
				t.Errorf("the folder %s has mode %s", path, mode)
			}
			return nil
		}
		for pattern, want := range rows {
			if ok, _ := filepath.Match(pattern, d.Name()); ok {
				found[pattern] = true
				if mode != want {
					t.Errorf("%s has mode %s, the table says %s", path, mode, want)
				}
				return nil
			}
		}
		t.Errorf("%s, of mode %s, is not in the table", path, mode)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range rows {
		if !found[pattern] {
			t.Errorf("the server wrote no %s", pattern)
		}
	}
	if len(rows) < 3 {
		t.Errorf("the table has %d files", len(rows))
	}
}
