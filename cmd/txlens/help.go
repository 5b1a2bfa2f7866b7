package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// manyFlags is the number of flags beyond which --help of a command shows the common ones.
const manyFlags = 20

// helpAllFlag prints the help with every flag.
type helpAllFlag bool

// BeforeReset implements the hook of kong that runs before arguments are checked: the help
// needs none.
func (helpAllFlag) BeforeReset(app *kong.Kong, ctx *kong.Context) error {
	err := kong.DefaultHelpPrinter(kong.HelpOptions{ValueFormatter: kong.DefaultHelpValueFormatter}, ctx)
	app.Exit(exitComplete)
	return err
}

// printCommon prints the help of a command. If the command has many flags, it omits those
// that belong to a group and have no tag "common", and prints how many it omitted.
func printCommon(options kong.HelpOptions, ctx *kong.Context) error {
	var left []*kong.Flag
	if node := ctx.Selected(); node != nil && len(node.Flags) > manyFlags {
		for _, f := range node.Flags {
			if f.Group != nil && !f.Hidden && !f.Tag.Has("common") {
				f.Hidden = true
				left = append(left, f)
			}
		}
	}
	err := kong.DefaultHelpPrinter(options, ctx)
	for _, f := range left {
		f.Hidden = false
	}
	if len(left) > 0 && err == nil {
		_, err = fmt.Fprintf(ctx.Stdout, "\n%d more flags: %s --help-all\n", len(left), ctx.Selected().FullPath())
	}
	return err
}
