package main

import (
	"os"
	"testing"
	"time"

	"txlens/testkit/service"
	"txlens/testkit/size"

	"github.com/alecthomas/kong"
)

// TestMain runs the tests without the settings of the machine, and holds the answers that
// they receive to what the service says of itself.
func TestMain(m *testing.M) {
	if os.Getenv(servedArgs) == "" { // a served process has what its test gave it
		service.ClearSettings()
	}
	pollEvery = size.Of(50*time.Millisecond, 0)
	code := service.RunDescribed(m)
	os.RemoveAll(binary.folder)
	os.Exit(code)
}

// serveNode is the command serve as kong sees it.
func serveNode() (*kong.Node, error) {
	parser, err := newParser(new(commands))
	if err != nil {
		return nil, err
	}
	for _, n := range parser.Model.Children {
		if n.Name == "serve" {
			return n, nil
		}
	}
	return nil, os.ErrNotExist
}
