package main

import (
	"errors"
	"strings"

	"txlens/app/settings"
	"txlens/engine/export"
)

// exportFlags select the format of another program in place of the text.
type exportFlags struct {
	CSV     string `name:"csv"     placeholder:"TABLE"   help:"Print a table: ${csv}."          enum:",${csv}" default:""`
	SVG     string `name:"svg"     placeholder:"DRAWING" help:"Print a drawing: ${svg}."        enum:",${svg}" default:""`
	Mermaid bool   `name:"mermaid"                       help:"Print the source of the sequence diagram in Mermaid's language."`
}

// exportVars are the variables of the help of exportFlags.
func exportVars() map[string]string {
	return map[string]string{"csv": strings.Join(export.Contents(export.CSV), ","), "svg": strings.Join(export.Contents(export.SVG), ",")}
}

// chosen returns the format that the flags ask for; nil if they ask for none.
func (f *exportFlags) chosen() *export.Format {
	name := ""
	switch {
	case f.CSV != "":
		name = f.CSV + "." + export.CSV
	case f.SVG != "":
		name = f.SVG + "." + export.SVG
	case f.Mermaid:
		name = "sequence." + export.Mermaid
	}
	found, _ := export.Find(name)
	return found
}

// check returns an error for more than one form of output.
func (f *exportFlags) check(asJSON, many bool) error {
	n := 0
	for _, given := range []bool{asJSON, f.CSV != "", f.SVG != "", f.Mermaid} {
		if given {
			n++
		}
	}
	switch {
	case n > 1:
		return settings.InputError{Err: errors.New("give one of --json, --csv, --svg and --mermaid: each prints to stdout")}
	case many && f.chosen() != nil:
		return settings.InputError{Err: errors.New("--csv, --svg and --mermaid take one transaction, and no -; use --json for many")}
	}
	return nil
}
