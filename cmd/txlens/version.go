package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"txlens/app"
)

type versionCmd struct{}

// Run prints version and commit.
func (versionCmd) Run(c console) error {
	v, commit := app.Version()
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(c.out, "txlens %s, commit %s\n", v, commit)
	return err
}

type versionFlag bool

// BeforeReset implements the hook of kong that runs before arguments are checked:
// --version needs no command.
func (versionFlag) BeforeReset(app *kong.Kong, c console) error {
	err := versionCmd{}.Run(c)
	app.Exit(exitComplete)
	return err
}
