package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"txlens/internal/testkit/contract"
	"txlens/transport/discovery"
)

// TestMain holds every answer that the tests of the server receive through
// http.DefaultClient to what the service says of itself. Its other requests go to
// nobody else.
func TestMain(m *testing.M) {
	ownSettings()
	set, err := discovery.New(discovery.Config{})
	if err != nil {
		panic(err)
	}
	base, _ := discovery.ParseBaseURL("http://127.0.0.1")
	file, _ := set.At("/openapi.json", base)
	doc, err := contract.Load(file.Body)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	faults := 0
	http.DefaultClient.Transport = &contract.RoundTripper{Document: doc, Report: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if faults++; faults <= 10 {
			fmt.Fprintln(os.Stderr, "not as described:", err)
		}
	}}
	code := m.Run()
	mu.Lock()
	defer mu.Unlock()
	if faults > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d answers are not as described\n", faults)
		code = 1
	}
	os.Exit(code)
}
