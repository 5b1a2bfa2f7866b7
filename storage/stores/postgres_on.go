//go:build postgres

package stores

import (
	"context"

	"txlens/actors/channel"
	"txlens/storage/postgres"
)

func checkURL(url string) error { return postgres.CheckURL(url) }

func openServer(ctx context.Context, url string, o Options) (Store, error) {
	s, err := postgres.Open(ctx, url, postgres.Options{LeaseWait: o.LeaseWait, ExpireEvery: o.ExpireEvery, Now: o.Now, Log: o.Log})
	if err != nil {
		return Store{}, err
	}
	return Store{Jobs: s, Runs: s, Kept: s, PaymentStore: channel.StoreOf(s), Base: s, Records: s, Payments: s, Copying: s, Server: s}, nil
}

func inspectServer(ctx context.Context, url string) (inUse bool, err error) {
	return postgres.Inspect(ctx, url)
}

func serverExists(ctx context.Context, url string) (bool, error) { return postgres.Exists(ctx, url) }
