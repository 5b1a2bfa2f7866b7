package main

import (
	"os"
	"txlens/app/settings"

	"github.com/alecthomas/kong"
)

// ownSettings keeps the settings of the machine out of the tests, and servers that
// run side by side off the one address of the admin listener. Processes that tests
// start inherit both.
func ownSettings() {
	if os.Getenv(servedArgs) != "" {
		return // a served process has what its test gave it
	}
	serve, err := serveNode()
	if err != nil {
		panic(err)
	}
	for _, f := range serve.Flags {
		for _, name := range f.Envs {
			os.Unsetenv(name)
		}
	}
	os.Unsetenv(settings.ProviderKeyEnv)
	os.Setenv("TXLENS_ADMIN_LISTEN", settings.AdminOff)
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
