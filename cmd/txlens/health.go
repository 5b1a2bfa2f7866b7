package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"txlens/app"
	"txlens/app/settings"
)

// healthCmd is the health check of a container without a shell and curl.
type healthCmd struct {
	URL string `arg:"" optional:"" placeholder:"URL" help:"Admin listener to ask; default http:// and $$TXLENS_ADMIN_LISTEN, or http://127.0.0.1:8403."`
}

// Run returns nil if the server is ready.
func (cmd *healthCmd) Run(ctx context.Context, c console) error {
	base := cmd.URL
	if base == "" {
		base = "http://" + settings.DefaultAdmin
		if listen := os.Getenv("TXLENS_ADMIN_LISTEN"); listen != "" && listen != settings.AdminOff {
			base = "http://" + strings.Replace(listen, "0.0.0.0:", "localhost:", 1)
		}
	}
	resp, err := askAdmin(ctx, app.AdminAccess{URL: strings.TrimSuffix(base, "/readyz")}, question{path: "/readyz", all: 10 * time.Second})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	_, warnings, _ := strings.Cut(string(body), "\n") // the status code has the same meaning as the first line
	_, err = fmt.Fprint(c.out, "ready\n"+warnings)
	return err
}
