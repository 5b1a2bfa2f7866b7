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

// Folder returns the folder of the setting; by default the one for state that must survive
// a restart.
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
