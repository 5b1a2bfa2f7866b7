package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"txlens/app/settings"
	"txlens/storage/stores"
)

// report prints the settings with their origins and lists all that is wrong with them. It
// opens no port, writes no file, and sends requests to the settlement chain only.
func (cmd *serveCmd) report(ctx context.Context, c console, k *kong.Context) error {
	list := cmd.Faults()
	dir, note, err := cmd.inspectFolders(ctx)
	if err != nil {
		list = append(list, err)
	}
	if err := cmd.printSettings(c, k, dir); err != nil {
		return err
	}
	if err := settings.InOneLine(list); err != nil {
		return err
	}
	if err := checkSettlement(ctx, &cmd.Sale, c.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "The settings are good%s.\n", note)
	return err
}

// printSettings lists the settings in force; dir is the data folder.
func (cmd *serveCmd) printSettings(c console, k *kong.Context, dir string) error {
	out := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	given := map[string]string{}
	for _, p := range k.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = map[bool]string{true: "file " + cmd.Config, false: "flag"}[p.Resolved]
		}
	}
	for _, f := range settingsOf(k.Selected()) {
		value, from := masked(f), given[f.Name]
		if f.Name == "data" && cmd.Dir == "" {
			value = dir
		}
		if name := fromEnv(f); from == "" && name != "" {
			from = "environment " + name
		} else if from == "" {
			from = "default"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", f.Name, value, from)
	}
	if os.Getenv(settings.ProviderKeyEnv) != "" {
		fmt.Fprintf(out, "provider-key\t(hidden)\tenvironment %s\n", settings.ProviderKeyEnv)
	}
	return out.Flush()
}

// inspectFolders checks whether the folders and the store can be used, and returns the data
// folder.
func (cmd *serveCmd) inspectFolders(ctx context.Context) (dir, note string, err error) {
	at, dir, err := cmd.Location()
	if err != nil {
		return dir, "", nil // Faults has it
	}
	if err = usable(dir); err != nil {
		err = fmt.Errorf("--data: %w", err)
	} else if note, err = inspectStore(ctx, at); err != nil {
		err = fmt.Errorf("%s: %w", map[bool]string{true: "--data", false: "--store"}[at.URL == ""], err)
	}
	if cmd.Record != "" {
		if bad := usable(cmd.Record); bad != nil {
			err = errors.Join(err, fmt.Errorf("--record: %w", bad))
		}
	}
	return dir, note, err
}

// inspectStore checks whether a server could keep its data there.
func inspectStore(ctx context.Context, at stores.Location) (note string, err error) {
	inUse, err := stores.Inspect(ctx, at)
	switch {
	case err != nil || !inUse:
		return "", err
	case at.URL != "":
		return "; a server uses the database", nil
	}
	return "; a server runs on the data folder", nil
}

// usable reports whether files can be made in dir, or dir itself if it is missing.
func usable(dir string) error {
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && path != filepath.Dir(path):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no folder", path)
		case !writable(path):
			return fmt.Errorf("%s cannot be written to by this user", path)
		}
		return nil
	}
}
