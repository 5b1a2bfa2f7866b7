package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"txlens/app"
	"txlens/engine/upstream"
	"txlens/storage"
	"txlens/transport/admin"
	"txlens/transport/callers"
)

// inOneLine joins what is wrong, or is nil.
func inOneLine(list []error) error {
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i, err := range list {
		texts[i] = err.Error()
	}
	return badInput{errors.New(strings.Join(texts, "; "))}
}

// faults lists what is wrong with the settings as such.
func (cmd *serveCmd) faults() (list []error) {
	note := func(flag string, err error) {
		if err != nil {
			list = append(list, fmt.Errorf("%s: %w", flag, err))
		}
	}
	for _, bound := range []struct {
		flag string
		n    int
	}{{"--max-analyses", cmd.MaxAnalyses}, {"--max-jobs", cmd.MaxJobs}, {"--job-queue", cmd.JobQueue}, {"--max-conns", cmd.MaxConns}} {
		if bound.n < 1 {
			note(bound.flag, errors.New("must be at least 1"))
		}
	}
	if cmd.MaxPerIP < 0 {
		note("--max-conns-per-ip", errors.New("must not be negative"))
	}
	if cmd.Grace < 0 {
		note("--grace", errors.New("must not be negative"))
	}
	note("--keys", cmd.checkKeys())
	_, err := admin.Loopback(cmd.Listen)
	note("--listen", err)
	note("--admin-listen", cmd.checkAdmin())
	if _, err := cmd.callbackFlags.options(); err != nil {
		list = append(list, err)
	}
	list = append(list, cmd.payFlags.faults()...)
	list = append(list, cmd.storeFaults()...)
	model, err := cmd.agent()
	if err != nil {
		list = append(list, err)
	}
	model.Close()
	cfg, err := cmd.config()
	if err == nil {
		_, err = upstream.New(cfg)
	}
	if err != nil {
		list = append(list, err)
	}
	return list
}

func (cmd *serveCmd) checkKeys() error {
	if cmd.Keys == "" {
		return nil
	}
	if cmd.sells() {
		return errors.New("a server that sells takes payments and no keys; leave out --keys or --settle-rpc")
	}
	_, err := callers.Read(cmd.Keys)
	return err
}

// storeFaults lists what is wrong with the settings of the database.
func (cmd *serveCmd) storeFaults() []error {
	o := app.Options{DataMax: cmd.dataMax(), KeepRuns: cmd.KeepRuns}
	if cmd.sells() {
		o.Sale = new(app.SaleOptions)
	}
	if err := o.CheckStore(); err != nil {
		return []error{flagError(err)}
	}
	return nil
}

func (cmd *serveCmd) checkAdmin() error {
	if cmd.AdminListen == adminOff {
		return nil
	}
	loopback, err := admin.Loopback(cmd.AdminListen)
	switch {
	case err != nil:
		return fmt.Errorf("%w, or off", err)
	case !loopback && !cmd.AdminRemote:
		return errors.New("other machines would reach it, and who does may copy the database; say --admin-remote if that is meant")
	case cmd.AdminListen == cmd.Listen && !strings.HasSuffix(cmd.Listen, ":0"):
		return errors.New("it is that of --listen")
	}
	return nil
}

// report prints what is in force and where from, and says all that is wrong. It
// opens no port and writes nothing. Of the outside it asks the settlement chain alone.
func (cmd *serveCmd) report(ctx context.Context, c console, k *kong.Context) error {
	list := cmd.faults()
	dir, note, err := cmd.inspectFolders()
	if err != nil {
		list = append(list, err)
	}
	if err := cmd.printSettings(c, k, dir); err != nil {
		return err
	}
	if err := inOneLine(list); err != nil {
		return err
	}
	if err := cmd.checkSettlement(ctx, c.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "The settings are good%s.\n", note)
	return err
}

// printSettings lists what is in force; dir is the data folder.
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
		if f.Name == "data" && cmd.Data == "" {
			value = dir
		}
		if name := fromEnv(f); from == "" && name != "" {
			from = "environment " + name
		} else if from == "" {
			from = "default"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", f.Name, value, from)
	}
	if os.Getenv(providerKeyEnv) != "" {
		fmt.Fprintf(out, "provider-key\t(hidden)\tenvironment %s\n", providerKeyEnv)
	}
	return out.Flush()
}

// inspectFolders says whether the folders can be used, and where the data is.
func (cmd *serveCmd) inspectFolders() (dir, note string, err error) {
	if dir, err = cmd.dir(); err == nil {
		note, err = inspectData(dir)
	}
	if err != nil {
		err = fmt.Errorf("--data: %w", err)
	}
	if cmd.Record != "" {
		if bad := usable(cmd.Record); bad != nil {
			err = errors.Join(err, fmt.Errorf("--record: %w", bad))
		}
	}
	return dir, note, err
}

// inspectData says whether a server could have its data in dir.
func inspectData(dir string) (note string, err error) {
	if err := usable(dir); err != nil {
		return "", err
	}
	switch err := storage.Inspect(dir); {
	case errors.Is(err, storage.ErrLocked):
		return "; a server runs on the data folder", nil
	case err != nil:
		return "", err
	}
	return "", nil
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
