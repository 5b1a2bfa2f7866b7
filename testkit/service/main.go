package service

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/alecthomas/kong"

	"txlens/app/settings"
	"txlens/testkit/contract"
	"txlens/transport/discovery"
)

// ClearSettings keeps the settings of the machine out of the tests, and servers that run
// side by side off the one address of the admin listener. Processes that tests start
// inherit both.
func ClearSettings() {
	parser, err := kong.New(new(settings.Server), kong.Vars(settings.Vars()))
	if err != nil {
		panic(err)
	}
	for _, f := range parser.Model.Flags {
		for _, name := range f.Envs {
			os.Unsetenv(name)
		}
	}
	os.Unsetenv("TXLENS_CONFIG")
	os.Unsetenv(settings.ProviderKeyEnv)
	os.Setenv("TXLENS_ADMIN_LISTEN", settings.AdminOff)
}

// RunDescribed runs the tests and returns the exit code. Every answer that they receive
// through http.DefaultClient must be as the OpenAPI document of the service says.
// http.DefaultClient must be used for requests to the service alone.
func RunDescribed(m *testing.M) int {
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
	http.DefaultClient.Timeout = patience
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
	CloseStores()
	mu.Lock()
	defer mu.Unlock()
	if faults > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d answers are not as described\n", faults)
		code = 1
	}
	return code
}
