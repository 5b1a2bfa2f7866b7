package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"txlens/engine/mpp/sandbox"
)

func TestBaseUnits(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := baseUnits(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %s, want an error", text, got.Dec())
			}
			return
		}
		if err != nil || got.Dec() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	f("1", "1000000")
	f("0.1", "100000")
	f("100.000001", "100000001")
	f("0", "0")
	f("99999999999999999999", "99999999999999999999000000")
	f("100000000000000000000", "")
	f("0.0000001", "")
	f("1.", "")
	f(".5", "")
	f("-1", "")
	f("1e3", "")
	f("", "")
}

func TestSandboxCommand(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		var stderr strings.Builder
		got := run(t.Context(), append([]string{"sandbox", "--listen", "127.0.0.1:0"}, args...), console{out: io.Discard, err: &stderr})
		if got != code || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: code %d, %s; want %d, %s", args, got, stderr.String(), code, want)
		}
	}
	f(exitBadInput, "mainnet", "--chain-id", "4217")
	f(exitBadInput, "is no address", "--fund", "0x12=5")
	f(exitBadInput, "is no amount", "--fund", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
	f(exitBadInput, "must not be negative", "--block-time=-1s")
	f(exitBadInput, "--listen", "--listen", "nowhere:x")

	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var stderr strings.Builder
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"sandbox", "--listen", "127.0.0.1:0", "--chain-id", "1337", "--block-time", "0", "--fund", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266=2.5"},
			console{out: in, err: &stderr})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	url, told := "", ""
	for lines.Scan() {
		told += lines.Text() + "\n"
		if _, after, found := strings.Cut(lines.Text(), "RPC URL"); found {
			url = strings.TrimSpace(after)
		}
		if strings.Contains(lines.Text(), "Funded") {
			break
		}
	}
	for _, want := range []string{"SANDBOX", "not a real chain", "1337", sandbox.PathUSD.Hex(), sandbox.Reserve.Hex(), "2500000 base units"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
	// A client of its own: what the default one sends is held against the description of
	// the product's API.
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	r, err := client.Post(url, "application/json", strings.NewReader(`{"id":1,"method":"eth_chainId"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if string(body) != `{"jsonrpc":"2.0","id":1,"result":"0x539"}` {
		t.Errorf("%s", body)
	}
	stop()
	if code := <-ended; code != exitComplete || !strings.Contains(stderr.String(), sandbox.Warning) {
		t.Errorf("code %d, %s", code, stderr.String())
	}
}
