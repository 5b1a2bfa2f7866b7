package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"txlens/app/settings"
	"txlens/engine/overlay"
)

type dataCmd struct {
	Check dataCheckCmd `cmd:"" help:"Say what is wrong with each file, with its line."`
	List  dataListCmd  `cmd:"" help:"List the files, and what each of them has."`
	Diff  dataDiffCmd  `cmd:"" help:"List what the files add to the tables of the program, and what they say otherwise."`
}

type dataFolder struct {
	Dir string `arg:"" type:"existingdir" help:"Folder as --data-dir takes it."`
}

// read reads the folder, and writes each fault on a line of its own.
func (f *dataFolder) read(c console) (*overlay.Data, error) {
	d, err := overlay.Read(os.DirFS(f.Dir))
	var faults *overlay.Faults
	if !errors.As(err, &faults) {
		if err != nil {
			return nil, settings.InputError{Err: fmt.Errorf("%s: %w", f.Dir, err)}
		}
		return d, nil
	}
	for _, x := range faults.List {
		fmt.Fprintln(c.out, x)
	}
	return nil, settings.InputError{Err: fmt.Errorf("%s: %s", f.Dir, counted(len(faults.List)+faults.More, "fault"))}
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

type dataCheckCmd struct{ dataFolder }

// Run reads the files and reports their faults.
func (cmd *dataCheckCmd) Run(c console) error {
	d, err := cmd.read(c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s, no faults\n", counted(len(d.Files()), "file"))
	return err
}

type dataListCmd struct{ dataFolder }

// Run lists the files.
func (cmd *dataListCmd) Run(c console) error {
	d, err := cmd.read(c)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tKIND\tROWS")
	for _, f := range d.Files() {
		fmt.Fprintf(w, "%s\t%s\t%d\n", f.Name, f.Kind, f.Rows)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s; digest %s\n", counted(d.Private(), "private label"), d.Digest())
	return err
}

type dataDiffCmd struct{ dataFolder }

// Run compares the files with the tables of the program.
func (cmd *dataDiffCmd) Run(c console) error {
	d, err := cmd.read(c)
	if err != nil {
		return err
	}
	for _, x := range d.Changes() {
		line := fmt.Sprintf("+ %s %s: %s", x.Kind, x.What, x.New)
		if x.Old != "" {
			line = fmt.Sprintf("~ %s %s: %s, was %s", x.Kind, x.What, x.New, x.Old)
		}
		if _, err := fmt.Fprintln(c.out, line); err != nil {
			return err
		}
	}
	return nil
}
