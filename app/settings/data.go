package settings

import (
	"errors"
	"os"
	"path/filepath"
)

// Data says where the database is.
type Data struct {
	Dir string `name:"data" placeholder:"DIR" type:"path" env:"TXLENS_DATA" help:"Folder of the database with jobs and runs; default txlens in $$XDG_STATE_HOME or in ~/.local/state."`
}

// Folder is the folder asked for, or the one for state that outlives a restart and
// belongs to no project.
func (f Data) Folder() (string, error) {
	if f.Dir != "" {
		return f.Dir, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "txlens"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", InputError{Err: errors.New("--data: name the folder for the database; there is no home folder to put it in")}
	}
	return filepath.Join(home, ".local", "state", "txlens"), nil
}
