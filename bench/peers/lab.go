package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// lab holds the programs and a folder for their files.
type lab struct {
	options
	dir   string // temporary
	meter string // the program measure
	node  string // of Node.js
	cast  string

	tables []*table // of all runs, in the order of the first
}

// errAbsent says that Node.js or the packages are not installed.
var errAbsent = errors.New("install Node.js, and run npm ci in bench/peers")

// open finds the programs and builds Txlens.
func open(ctx context.Context, opt options) (*lab, error) {
	l := &lab{options: opt}
	var err error
	if l.node, err = exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("find node: %w", errAbsent)
	}
	if l.packages, err = filepath.Abs(opt.packages); err != nil {
		return nil, err
	}
	l.cast = filepath.Join(
		l.packages,
		"node_modules",
		"@foundry-rs",
		"cast-"+runtime.GOOS+"-"+runtime.GOARCH,
		"bin",
		"cast",
	) // npm's names for linux and amd64 are Go's
	for _, path := range []string{l.cast, filepath.Join(l.packages, "node_modules", "@3loop", "transaction-decoder")} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("find %s: %w", path, errAbsent)
		}
	}
	if l.dir, err = os.MkdirTemp("", "peers"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(l.dir, "home", ".foundry", "cache"), 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}
	l.meter = filepath.Join(l.dir, "measure")
	err = build(ctx, l.meter, "txlens/bench/peers/measure")
	if err == nil && l.txlens == "" {
		l.txlens = filepath.Join(l.dir, "txlens")
		err = build(ctx, l.txlens, "txlens/cmd/txlens")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}
	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// build makes a program of this module as Txlens is released.
func build(ctx context.Context, file, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// environment has no setting of the user's, and no proxy.
func (l *lab) environment() []string {
	return []string{
		"HOME=" + filepath.Join(l.dir, "home"),
		"PATH=" + os.Getenv("PATH"),
		"TXLENS_DATA=" + filepath.Join(l.dir, "data"),
		"NO_PROXY=*",
	}
}

func (l *lab) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = l.environment(), l.packages
	return cmd
}

// measured is command under the eyes of measure, whose report usage.add reads.
func (l *lab) measured(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	report, err := os.CreateTemp(l.dir, "report")
	if err != nil {
		return nil, err
	}
	cmd := l.command(ctx, l.meter, append([]string{program}, args...)...)
	cmd.ExtraFiles = []*os.File{report}
	return cmd, os.Remove(report.Name())
}

// versions names what is compared.
func (l *lab) versions(ctx context.Context) string {
	first := func(program string, args ...string) string {
		out, err := l.command(ctx, program, args...).Output()
		if err != nil {
			return err.Error()
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return line
	}
	version := func(name string) string {
		return name + " " + first(l.node, "-p", `require("./node_modules/`+name+`/package.json").version`)
	}
	return fmt.Sprintf("%s; %s, %s on Node.js %s; %s", first(l.txlens, "--version"), version("@3loop/transaction-decoder"),
		version("@3loop/transaction-interpreter"), first(l.node, "--version"), first(l.cast, "--version"))
}
