package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"txlens/app"
	"txlens/app/settings"
	"txlens/storage"
)

type backupCmd struct {
	File string `arg:"" type:"path" help:"File to write; it must not exist yet."`

	serverFlag `embed:""`
}

// Run copies the database. If a server has it open, the server makes the copy. The file
// appears complete or not at all.
func (cmd *backupCmd) Run(ctx context.Context, c console) (err error) {
	if _, err := os.Lstat(cmd.File); err == nil {
		return settings.InputError{Err: fmt.Errorf("%s exists; name a new file", cmd.File)}
	}
	tmp, err := os.CreateTemp(filepath.Dir(cmd.File), ".txlens-backup-*")
	if err != nil {
		return settings.InputError{Err: fmt.Errorf("write backup: %w", err)}
	}
	defer os.Remove(tmp.Name())
	n, err := cmd.copy(ctx, tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return settings.InputError{Err: err}
	}
	if err := place(tmp.Name(), cmd.File); err != nil {
		return settings.InputError{Err: fmt.Errorf("write backup: %w", err)}
	}
	_, err = fmt.Fprintf(c.out, "%s: %d bytes\n", cmd.File, n)
	return err
}

func (cmd *backupCmd) copy(ctx context.Context, w io.Writer) (int64, error) {
	if cmd.Admin != "" {
		at, err := cmd.named()
		if err != nil {
			return 0, err
		}
		return fetchBackup(ctx, at, w)
	}
	dir, err := cmd.Folder()
	if err != nil {
		return 0, err
	}
	n, err := storage.BackupFile(dir, w)
	if !errors.Is(err, storage.ErrLocked) {
		return n, err
	}
	at, there := app.FindAdmin(dir)
	if !there {
		return 0, errors.New("a server runs on the folder and has no admin listener; name it with --admin, or stop the server")
	}
	return fetchBackup(ctx, at, w)
}

// fetchBackup asks a running server for a copy.
func fetchBackup(ctx context.Context, at app.AdminAccess, w io.Writer) (int64, error) {
	resp, err := askAdmin(ctx, at, question{path: "/backup"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, resp.Body)
	if err != nil {
		return n, fmt.Errorf("read the backup of the server: %w", err)
	}
	return n, nil
}

// place gives a finished file its final name and syncs the folder, so that the name
// survives a power cut. It uses a link where the file system has them, because a link,
// unlike a rename, does not replace a file that was created meanwhile.
func place(tmp, path string) error {
	err := os.Link(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if err != nil {
		if err := os.Rename(tmp, path); err != nil {
			return err
		}
	}
	return storage.SyncFolder(path)
}
