package client_test

import (
	"context"
	"fmt"
	"net"
	"os"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/mpp/tempo"
	"txlens/engine/upstream"
	"txlens/transport"
	"txlens/transport/client"
)

// recorded is a service that explains one recorded transaction.
type recorded struct {
	*analysis.Explainer
	bundle *upstream.Bundle
}

func (r recorded) Explain(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
	return r.Explainer.Explain(ctx, analysis.Input{ID: job.ID, Request: job.Request, World: upstream.ReplaySession(r.bundle, nil), Sink: job.Sink})
}

// A client asks a server in the same process, which charges nothing. From a server that
// sells, the same call opens a channel and pays, within Limits.
func ExampleClient_Explain() {
	bundle, err := upstream.ReadBundle("../../cmd/txlens/demo/1-swap.txlens")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := analysis.New(analysis.Options{SourcesOff: true})
	defer x.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := transport.New(transport.Config{Explainer: recorded{x, bundle}})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	defer func() {
		server.Shutdown(context.Background())
		<-ended
	}()

	key, _, err := tempo.GenerateSecp256k1Key()
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "wallet-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := client.New(client.Options{
		Server: "http://" + ln.Addr().String(), Key: key, Dir: dir,
		Limits: client.Limits{MaxDeposit: tempo.AmountFrom(16_000_000), MaxCharge: tempo.AmountFrom(500_000)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	answer, err := c.Explain(context.Background(), api.Request{TxHash: bundle.Meta.TxHash, ChainID: bundle.Meta.ChainID}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Result.Summary)
	fmt.Println("charged", answer.Charged)
	// Output:
	// Swapped 516.546 VPAD for 0.048924 ETH on MetaMask Swaps
	// charged 0
}
