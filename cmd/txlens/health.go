package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"txlens/app"
	"txlens/app/settings"

	"github.com/alecthomas/kong"
)

// healthCmd is the health check of a container without a shell and curl. It reads the settings of
// the server that say where it listens.
type healthCmd struct {
	Live        bool   `name:"live"         help:"Ask only whether the process answers: a server that waits for the network, or drains, is alive."`
	URL         string `arg:"" optional:"" placeholder:"URL" help:"Admin listener to ask, or the address of the service with /health; default what the settings of the server say."`
	Config      string `name:"config"       placeholder:"FILE"        type:"path" env:"TXLENS_CONFIG" help:"TOML file of settings of the server, as of txlens serve."`
	Listen      string `name:"listen"       default:"127.0.0.1:8402"  env:"TXLENS_LISTEN"             help:"Where the server listens; asked if it has no admin listener."`
	AdminListen string `name:"admin-listen" default:"127.0.0.1:8403"  env:"TXLENS_ADMIN_LISTEN"       help:"Where its admin listener is; off: none."                       placeholder:"ADDRESS"`
}

// BeforeResolve adds the file of settings of the server.
func (cmd *healthCmd) BeforeResolve(k *kong.Context) error {
	for _, node := range k.Model.Children {
		if node.Name == "serve" {
			return addSettings(k, node)
		}
	}
	return nil
}

// The paths that are asked: readiness and liveness of the admin listener, liveness of the service.
const (
	pathReady = "/readyz"
	pathLive  = "/livez"
	pathAlive = "/health"
)

// target returns the listener to ask, and the path.
func (cmd *healthCmd) target() (base, path string) {
	if base, ok := strings.CutSuffix(cmd.URL, pathAlive); ok {
		return base, pathAlive
	}
	path = pathReady
	if cmd.Live {
		path = pathLive
	}
	switch {
	case cmd.URL != "":
		return strings.TrimSuffix(strings.TrimSuffix(cmd.URL, pathReady), pathLive), path
	case cmd.AdminListen == settings.AdminOff:
		return "http://" + reachable(cmd.Listen), pathAlive
	}
	return "http://" + reachable(cmd.AdminListen), path
}

// reachable returns an address at which a listener of this machine can be reached: one on all
// addresses is on the loopback address, too.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

// Run returns nil if the server is ready; with --live, or without an admin listener, if it
// answers.
func (cmd *healthCmd) Run(ctx context.Context, c console) error {
	base, path := cmd.target()
	resp, err := askAdmin(ctx, app.AdminAccess{URL: base}, question{path: path, all: 10 * time.Second})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if path != pathReady {
		_, err = fmt.Fprintln(c.out, "alive")
		return err
	}
	_, warnings, _ := strings.Cut(string(body), "\n") // the status code has the same meaning as the first line
	_, err = fmt.Fprint(c.out, "ready\n"+warnings)
	return err
}
