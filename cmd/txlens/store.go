package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"txlens/app/settings"
	"txlens/storage/stores"
)

// storeCmd has the commands for a database that no server uses.
type storeCmd struct {
	Check   storeCheckCmd   `cmd:"" help:"Read all of a database, and print the number of rows and a checksum of each kind."`
	Migrate storeMigrateCmd `cmd:"" help:"Bring a database to the layout of this program, as a server does at its start."`
	Copy    storeCopyCmd    `cmd:"" help:"Copy a database into an empty one, of the same kind or another, and compare both."`
}

type storeFlags struct {
	settings.Database `embed:""`
	settings.Data     `embed:""`
}

// location says where the store is, for messages without its secrets.
func (f storeFlags) location() (at stores.Location, name string, err error) {
	at, dir, err := f.Locate(f.Data)
	return at, storeName(at, dir), err
}

func storeName(at stores.Location, dir string) string {
	if at.URL != "" {
		return maskURL(at.URL)
	}
	return dir
}

type storeCheckCmd struct{ storeFlags }

// Run opens the store, which verifies its structure, and reads all of its rows.
func (cmd *storeCheckCmd) Run(ctx context.Context, c console) error {
	at, name, err := cmd.location()
	if err != nil {
		return err
	}
	s, err := openExisting(ctx, at, stores.CopyOptions(time.Now()))
	if err != nil {
		return settings.InputError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	sums, err := stores.Sums(ctx, s)
	if err == nil {
		if state, bad := s.Copying.CopyState(); bad != nil || state != "" {
			err = errors.Join(stores.ErrUnfinished, bad)
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return settings.InputError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return printSums(c.out, sums)
}

// errNoStore is the error of a command that does not make a database.
var errNoStore = errors.New("there is no database")

// openExisting opens a store that exists and that no server uses, to read it: it does not change the
// schema of a database server.
func openExisting(ctx context.Context, at stores.Location, o stores.Options) (stores.Store, error) {
	there, err := stores.Exists(ctx, at)
	if err == nil && !there {
		err = errNoStore
	}
	if err != nil {
		return stores.Store{}, err
	}
	o.NoMigration = true
	return openUnused(ctx, at, o)
}

// openUnused opens a store that no server uses.
func openUnused(ctx context.Context, at stores.Location, o stores.Options) (stores.Store, error) {
	s, err := stores.Open(ctx, at, o)
	if err != nil {
		return s, fmt.Errorf("%w; stop the server that uses it, if one does", err)
	}
	return s, nil
}

func printSums(w io.Writer, sums []stores.Sum) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range sums {
		fmt.Fprintf(out, "%s\t%d\t%s\n", s.Part, s.Rows, s.Checksum)
	}
	return out.Flush()
}

type storeMigrateCmd struct{ storeFlags }

// Run opens the store, which brings it to the layout of this program, and closes it.
func (cmd *storeMigrateCmd) Run(ctx context.Context, c console) error {
	at, name, err := cmd.location()
	if err != nil {
		return err
	}
	s, err := openUnused(ctx, at, stores.CopyOptions(time.Now()))
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return settings.InputError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	_, err = fmt.Fprintf(c.out, "%s has the layout of this program.\n", name)
	return err
}

type storeCopyCmd struct {
	From     string `name:"from"      placeholder:"bolt:DIR|URL" secret:"store" help:"Database to read, as --store of serve names it."`
	FromFile string `name:"from-file" placeholder:"FILE" secret:"no" type:"path" help:"File with the value of --from, for a URL with a password."`
	To       string `name:"to"        placeholder:"bolt:DIR|URL" secret:"store" help:"Empty database to write, or one into which a copy has not ended."`
	ToFile   string `name:"to-file"   placeholder:"FILE" secret:"no" type:"path" help:"File with the value of --to, for a URL with a password."`
}

// Run copies. If it is interrupted, the next one continues.
func (cmd *storeCopyCmd) Run(ctx context.Context, c console) (err error) {
	o := stores.CopyOptions(time.Now())
	var all [2]stores.Store
	for i, place := range []struct {
		flag, text, file string
		open             func(context.Context, stores.Location, stores.Options) (stores.Store, error)
	}{{"--from", cmd.From, cmd.FromFile, openExisting}, {"--to", cmd.To, cmd.ToFile, openUnused}} {
		at, err := settings.ParseStore(place.flag, place.text, place.file)
		if err == nil && at == (stores.Location{}) {
			err = settings.InputError{Err: fmt.Errorf("%s: name the database, as bolt:DIR or postgres://USER@HOST/DATABASE", place.flag)}
		}
		if err != nil {
			return err
		}
		if all[i], err = place.open(ctx, at, o); err != nil {
			return settings.InputError{Err: fmt.Errorf("%s: %w", place.flag, err)}
		}
		defer func() { err = errors.Join(err, all[i].Close()) }()
	}
	sums, err := stores.Copy(ctx, all[0], all[1], func(part string, rows int) { fmt.Fprintf(c.err, "%s: %d\n", part, rows) })
	if err != nil {
		return settings.InputError{Err: err}
	}
	return printSums(c.out, sums)
}
