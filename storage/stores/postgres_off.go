//go:build !postgres

package stores

import (
	"context"
	"errors"
)

// errNoServers is the error of a URL in a program that was built without the tag postgres.
var errNoServers = errors.New("this program was built without PostgreSQL; build it with: go build -tags postgres ./cmd/txlens")

func checkURL(string) error { return errNoServers }

func openServer(context.Context, string, Options) (Store, error) { return Store{}, errNoServers }

func inspectServer(context.Context, string) (bool, error) { return false, errNoServers }

func serverExists(context.Context, string) (bool, error) { return false, errNoServers }
