package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/upstream"
)

// keeper finds the results of earlier runs; nil: each request is analysed. A server that sells
// keeps none: the price of a run is what it cost.
func (s *Server) keeper(runs *job.Runs) *job.Keeper {
	if s.o.DropResults || s.o.Sale != nil || s.o.Explain != nil {
		return nil
	}
	o := job.KeeperOptions{
		Store: s.store.Kept, Runs: runs, Rules: s.o.Analysis.rules(programText()), Evidence: s.o.Analysis.evidence(), Block: s.analyst.block, Log: s.o.Log,
	}
	if s.o.Analysis.Overlay != nil {
		o.Data = func() string { return s.analyst.overlay().Digest() }
	}
	if g := s.o.Analysis.Agent; g != nil {
		o.Model = func(r api.Request) string { return r.ModelOr(g.Default) }
	}
	return job.NewKeeper(o)
}

// rules are all that decides, beside the request and the chain, what an analysis says.
func (o AnalysisOptions) rules(program string) string {
	text := program + o.evidence()
	if g := o.Agent; g != nil {
		text += fmt.Sprintf("%+v %+v %T", g.Models, g.Limits, g.Provider) // maps are printed in order
		if g.Library != nil {
			for _, name := range g.Library.Names() {
				book, _ := g.Library.Get(name)
				text += fmt.Sprintf("%+v", book)
			}
		}
	}
	return text
}

// evidence is all that decides, beside the request, the chain and the rules, what an analysis reads.
func (o AnalysisOptions) evidence() string {
	u := o.Upstream
	return fmt.Sprint(o.Quick, u.SourcesOff, u.RPCOnly, u.EtherscanKey != "") +
		fmt.Sprintf("%q", []string{u.SourcifyURL, u.EtherscanURL, u.BlockscoutURL, u.FourByteURL, u.LlamaURL})
}

// block returns the hash of the block that has a transaction now.
func (a *Analyst) block(ctx context.Context, chainID uint64, txHash string) (block [32]byte, err error) {
	ch, ok := chain.ByID(chainID)
	if !ok {
		return block, fmt.Errorf("%w: chainId %d", api.ErrUnknownChain, chainID)
	}
	rc, err := a.client.Session(nil, nil).Receipt(ctx, ch, common.HexToHash(txHash))
	if err != nil {
		return block, err
	}
	if rc.BlockHash == nil {
		return block, fmt.Errorf("%w: the receipt names no block", upstream.ErrNotFound)
	}
	return *rc.BlockHash, nil
}

// programText names the program: by its commit, or by the bytes of its file where it was built
// from something else.
var programText = sync.OnceValue(func() string {
	if _, commit := Version(); commit != "" && !strings.HasSuffix(commit, changes) {
		return versionText()
	}
	sum, err := fileSum()
	if err != nil { // the results of this process alone are found
		return fmt.Sprint(versionText(), os.Getpid(), err)
	}
	return versionText() + " " + sum
})

// fileSum is a hash of the program's file.
func fileSum() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
