package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"txlens/storage"
)

// dataFlag says where the database is.
type dataFlag struct {
	Data string `name:"data" placeholder:"DIR" type:"path" env:"TXLENS_DATA" help:"Folder of the database with jobs and runs; default txlens in $$XDG_STATE_HOME or in ~/.local/state."`
}

// dir is the folder asked for, or the one for state that outlives a restart and
// belongs to no project.
func (f dataFlag) dir() (string, error) {
	if f.Data != "" {
		return f.Data, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "txlens"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", badInput{errors.New("--data: name the folder for the database; there is no home folder to put it in")}
	}
	return filepath.Join(home, ".local", "state", "txlens"), nil
}

// openStore opens the database; what is wrong with the folder is bad input.
func openStore(dir string, log *slog.Logger) (*storage.Store, error) {
	store, err := storage.Open(dir, storage.Options{Log: log})
	if err != nil {
		return nil, badInput{err}
	}
	return store, nil
}

type backupCmd struct {
	File string `arg:"" type:"path" help:"File to write; it must not exist yet."`

	dataFlag `embed:""`
}

// Run copies the database. The file appears whole or not at all.
func (cmd *backupCmd) Run(c console) (err error) {
	dir, err := cmd.dir()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(cmd.File); err == nil {
		return badInput{fmt.Errorf("%s exists; name a new file", cmd.File)}
	}
	tmp, err := os.CreateTemp(filepath.Dir(cmd.File), ".txlens-backup-*")
	if err != nil {
		return badInput{fmt.Errorf("write backup: %w", err)}
	}
	defer os.Remove(tmp.Name())
	n, err := storage.BackupFile(dir, tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return badInput{err}
	}
	if err := place(tmp.Name(), cmd.File); err != nil {
		return badInput{fmt.Errorf("write backup: %w", err)}
	}
	_, err = fmt.Fprintf(c.out, "%s: %d bytes\n", cmd.File, n)
	return err
}

// place gives a finished file its name. A link, unlike a rename, replaces nothing
// that came meanwhile; not all file systems have links.
func place(tmp, path string) error {
	err := os.Link(tmp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(tmp, path)
}
