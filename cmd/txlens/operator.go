package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/transport/client"

	"github.com/go-json-experiment/json"
)

// serverFlag selects the running server of an operator's command.
type serverFlag struct {
	Admin string `name:"admin" placeholder:"URL" env:"TXLENS_ADMIN" help:"Ask the server with this admin listener, such as http://127.0.0.1:8403; default: the server that runs on the folder, if one does."`

	AdminTokenFile string `name:"admin-token-file" placeholder:"FILE" env:"TXLENS_ADMIN_TOKEN_FILE" secret:"no" type:"path" help:"File whose last line is the token of the listener of --admin, such as a copy of the file admin.url in the data folder of its server."`

	settings.Data `embed:""`
}

// base returns the server's admin listener.
func (f serverFlag) base() (at app.AdminAccess, err error) {
	if f.Admin != "" {
		return f.named()
	}
	dir, err := f.Folder()
	if err != nil {
		return at, err
	}
	at, there := app.FindAdmin(dir)
	if !there {
		return at, settings.InputError{Err: fmt.Errorf("no server with an admin listener runs on %s; name its listener with --admin, or its folder with --data", dir)}
	}
	return at, nil
}

// maxAdminToken is the largest size of a file with the token of an admin listener in bytes.
const maxAdminToken = 4096

// named returns the listener of --admin. The token of the data folder is sent only to the
// listener that the folder names.
func (f serverFlag) named() (at app.AdminAccess, err error) {
	if f.AdminTokenFile != "" {
		text, err := client.ReadSecret(f.AdminTokenFile, maxAdminToken)
		if err != nil {
			return at, settings.InputError{Err: fmt.Errorf("--admin-token-file: %w", err)}
		}
		lines := strings.Fields(text)
		if len(lines) == 0 {
			return at, settings.InputError{Err: errors.New("--admin-token-file: the file is empty")}
		}
		return app.AdminAccess{URL: f.Admin, Token: lines[len(lines)-1]}, nil
	}
	at.URL = f.Admin
	if dir, err := f.Folder(); err == nil {
		if own, there := app.FindAdmin(dir); there && own.URL == strings.TrimSuffix(f.Admin, "/") {
			at.Token = own.Token
		}
	}
	return at, nil
}

// question is one request to an admin listener.
type question struct {
	path string
	body any           // posted as JSON; nil: GET
	head time.Duration // until the answer begins, default 30 s
	all  time.Duration // until it has ended; 0: no bound
}

// maxOperatorAnswer is the largest answer in bytes that is read into memory.
const maxOperatorAnswer = 16 << 20

// readAdmin makes a request and decodes the JSON of the answer into out.
func readAdmin(ctx context.Context, at app.AdminAccess, q question, out any) error {
	resp, err := askAdmin(ctx, at, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, maxOperatorAnswer), out); err != nil {
		return fmt.Errorf("ask the server: read its answer: %w", err)
	}
	return nil
}

// askAdmin makes one request to an admin listener, which must answer 200.
func askAdmin(ctx context.Context, at app.AdminAccess, q question) (*http.Response, error) {
	u, err := url.Parse(at.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, settings.InputError{Err: errors.New("want the address of an admin listener, such as http://127.0.0.1:8403")}
	}
	method, body := http.MethodGet, io.Reader(nil)
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("ask the server: %w", err)
		}
		method, body = http.MethodPost, bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(u.String(), "/")+q.path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if at.Token != "" {
		req.Header.Set("Authorization", "Bearer "+at.Token)
	}
	if q.head == 0 {
		q.head = 30 * time.Second
	}
	client := &http.Client{
		Timeout: q.all,
		Transport: &http.Transport{ // no proxy: the server is on this machine or in the operator's own network
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ResponseHeaderTimeout: q.head, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf(
			"ask the server: %d: %s",
			resp.StatusCode,
			api.OneLine(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "), 300),
		)
	}
	return resp, nil
}
