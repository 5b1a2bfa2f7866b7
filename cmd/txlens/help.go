package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// manyFlags is the number of flags beyond which --help of a command shows the common ones.
const manyFlags = 20

// helpAllFlag prints the help with every flag.
type helpAllFlag bool

// BeforeReset runs ahead of the checks: the help needs no arguments.
func (helpAllFlag) BeforeReset(app *kong.Kong, ctx *kong.Context) error {
	err := kong.DefaultHelpPrinter(kong.HelpOptions{ValueFormatter: kong.DefaultHelpValueFormatter}, ctx)
	app.Exit(exitComplete)
	return err
}

// printCommon prints the help of a command. Of one with many flags it leaves those out that
// belong to a group and have no tag common, and says how many there are.
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
