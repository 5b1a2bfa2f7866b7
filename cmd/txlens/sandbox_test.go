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
	f(exitBadInput, "--fund: amount is not a decimal number", "--fund", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
	f(exitBadInput, "--fund: amount is above 2^96-1", "--fund", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266=100000000000000000000000")
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
