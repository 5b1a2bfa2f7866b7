package main

import (
	"errors"
	"fmt"

	"txlens/app/settings"
	"txlens/transport/callers"
)

type keyCmd struct {
	Name      string `arg:"" help:"Name of the caller; it appears in the log."`
	PerMinute int    `       help:"Analyses that it may start in a minute." name:"per-minute" default:"60"`
	AtOnce    int    `       help:"Analyses that it may run at a time."     name:"at-once"    default:"4"`
}

// Run makes the key of a caller, and prints the line of the file of --keys that stands for it. The
// key goes to stderr: a file that stdout is appended to never holds it.
func (cmd *keyCmd) Run(c console) error {
	if err := callers.CheckName(cmd.Name); err != nil {
		return settings.InputError{Err: fmt.Errorf("%q: %w", cmd.Name, err)}
	}
	if cmd.PerMinute < 1 || cmd.AtOnce < 1 {
		return settings.InputError{Err: errors.New("--per-minute and --at-once must be at least 1")}
	}
	key, hash := callers.NewKey()
	if _, err := fmt.Fprintf(c.err, "The key of %s is %s: give it to the caller, it is stored nowhere. Its line for the file of --keys:\n", cmd.Name, key); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "%s %s per-minute=%d at-once=%d\n", cmd.Name, hash, cmd.PerMinute, cmd.AtOnce)
	return err
}
