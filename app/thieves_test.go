package app_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
	"txlens/testkit/size"
	"txlens/transport/client"
)

// thiefCallPrice is what a call costs, in nano-dollars.
const thiefCallPrice = 30_000_000

// owedAtMost is what a payer may owe: the exposure, and one unit of each run of its channel that
// began just below it.
const owedAtMost = 25*meter.Cent + 4*meter.Cent

// TestThieves: payers who pay one unit and stop, again and again, keep no honest payer
// out, and cost the service no more than what each may owe. It prints what the honest
// ones wait without and with the thieves; TXLENS_THIEVES_SECONDS makes each phase longer
// than a few seconds and takes 60 of each kind.
func TestThieves(t *testing.T) {
	t.Parallel()
	many, phase := size.Of(4, 8), size.Of(time.Second, 4*time.Second)
	if text := os.Getenv("TXLENS_THIEVES_SECONDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("TXLENS_THIEVES_SECONDS=%q is no number of seconds", text)
		}
		many, phase = 60, time.Duration(n)*time.Second
	}
	s := service.NewSeller(t, "--call-price", "rpc="+strconv.Itoa(thiefCallPrice), "--voucher-rate", "10", "--voucher-patience", "20s",
		"--max-conns", "8192")
	crowd := &crowd{t: t, s: s}
	for i := range many {
		crowd.add(i)
	}
	alone := crowd.buy(phase, nil)
	steal := make(chan struct{})
	var thieves sync.WaitGroup
	var attempts, begun atomic.Int64
	for range many {
		thief := s.Another(t)
		thieves.Go(func() { thief.Steal(steal, &attempts, &begun) })
	}
	beside := crowd.buy(phase, steal)
	s.Eventually("a thief is refused", func() bool { return attempts.Load() > begun.Load() })
	close(steal)
	thieves.Wait()
	s.Stop()
	unpaid, worst := service.UnpaidOf(t, s.Data)
	t.Logf("%d honest payers, %s each phase: %d bought alone, %d beside %d thieves; median wait %s and %s, ratio %.2f; 99th %s and %s",
		many, phase, len(alone.waits), len(beside.waits), many, alone.at(50), beside.at(50), float64(beside.at(50))/float64(alone.at(50)), alone.at(99), beside.at(99))
	t.Logf("%d attempts to steal, %d runs begun; %d base units are unpaid in all, %d at most of one payer; the bound is %d each",
		attempts.Load(), begun.Load(), unpaid, worst, owedAtMost)
	if alone.failed+beside.failed > 0 {
		t.Errorf("%d and %d honest requests failed: %v", alone.failed, beside.failed, beside.err)
	}
	if worst > owedAtMost {
		t.Errorf("one payer owes %d, more than %d", worst, owedAtMost)
	}
	if begun.Load() == 0 || len(beside.waits) == 0 {
		t.Error("too little happened to say anything")
	}
}

// crowd are honest payers.
type crowd struct {
	t       *testing.T
	s       *service.Seller
	clients []*client.Client
}

func (c *crowd) add(i int) {
	c.t.Helper()
	secret := common.BigToHash(uint256.NewInt(uint64(1000 + i)).ToBig())
	key, err := tempo.NewSecp256k1Key(secret[:])
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.s.Chain.Mint(sandbox.PathUSD, key.Address(), uint256.NewInt(1e12)); err != nil {
		c.t.Fatal(err)
	}
	one, err := client.New(client.Options{
		Server: c.s.Base, Key: key, Dir: c.t.TempDir(),
		Chain:  client.Chain{ID: c.s.Chain.ChainID(), Token: sandbox.PathUSD, RPC: []string{c.s.RPC}},
		Limits: client.Limits{MaxDeposit: tempo.AmountFrom(1e11)},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { one.Close() })
	c.clients = append(c.clients, one)
}

// bought is what a phase came to.
type bought struct {
	waits  []time.Duration
	failed int
	err    error
}

func (b *bought) at(percent int) time.Duration {
	if len(b.waits) == 0 {
		return 0
	}
	return b.waits[min(len(b.waits)-1, len(b.waits)*percent/100)].Round(time.Millisecond)
}

// buy has every payer buy, with a rest between two requests, until the phase is over.
func (c *crowd) buy(phase time.Duration, _ chan struct{}) *bought {
	var b bought
	var mu sync.Mutex
	var all sync.WaitGroup
	over, cancel := context.WithTimeout(context.Background(), phase)
	defer cancel()
	for i, one := range c.clients {
		all.Go(func() {
			for n := 0; over.Err() == nil; n++ {
				began := time.Now()
				_, err := one.Explain(context.Background(), api.Request{TxHash: c.s.World.Tx.Hash, ChainID: 1, Context: strconv.Itoa(i) + " " + strconv.Itoa(n)}, nil)
				mu.Lock()
				if err != nil {
					b.failed, b.err = b.failed+1, err
				} else {
					b.waits = append(b.waits, time.Since(began))
				}
				mu.Unlock()
				select {
				case <-over.Done():
				case <-time.After(time.Second + time.Duration(rand.Int64N(int64(2*time.Second)))):
				}
			}
		})
	}
	all.Wait()
	slices.Sort(b.waits)
	return &b
}
