package app_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"txlens/app"
	"txlens/engine/api"
	"txlens/transport"
)

// A server with analyses of its own, which works without a network.
func Example() {
	dir, err := os.MkdirTemp("", "txlens-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	srv, err := app.New(ctx, app.Options{
		Listen: "127.0.0.1:0", DataDir: dir, Grace: time.Second,
		Explain: func(_ context.Context, spec transport.RunSpec) (*api.Result, error) {
			return &api.Result{TxHash: spec.Request.TxHash, Status: api.StatusSuccess, AnalysisModel: api.ModelRules, Summary: "A transfer.", Confidence: api.High}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()

	body := `{"txHash":"0x` + strings.Repeat("1", 64) + `","chainId":1}`
	resp, err := http.Post("http://"+srv.Address().String()+"/explain", "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	stop()
	fmt.Println(errors.Join(<-served, srv.Close()))
	// Output:
	// 200 OK
	// <nil>
}
