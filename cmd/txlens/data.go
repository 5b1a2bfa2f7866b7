package main

import (
	"errors"
	"os"
	"path/filepath"
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
