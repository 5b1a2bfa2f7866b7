package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/internal/dice"
	"txlens/internal/powercut"
	"txlens/testkit/size"
)

// powercutEnv names the wallet folder of a child that buys.
const powercutEnv = "TXLENS_TEST_POWERCUT_WALLET"

// TestPowerCutChild is the child of TestPowerCut: it opens a channel, signs and tops up
// in a folder that it makes, and prints a line for each payload that has arrived.
func TestPowerCutChild(t *testing.T) {
	dir := os.Getenv(powercutEnv)
	if dir == "" {
		t.Skip("TestPowerCut runs it")
	}
	r := newRogue(t)
	r.dir = dir
	r.offer.SuggestedDeposit = usd(4)
	if _, err := NewKey(filepath.Join(filepath.Dir(dir), "key")); err != nil {
		t.Fatal(err)
	}
	fmt.Println("key")
	r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
		p := must(cr.Payload())
		if up, ok := p.(*mpp.TopUp); ok {
			fmt.Println("topUp", up.ChannelID.Hex(), up.AdditionalDeposit)
		} else {
			fmt.Println(p.Action(), p.Ref().ChannelID.Hex(), signedAmount(p))
		}
		mined(r, p)
		if req.ContentLength == 0 {
			w.WriteHeader(204)
			return
		}
		n, _ := signedAmount(p).Uint64()
		r.stream(w, cr, need(p.Ref().ChannelID, tempo.AmountFrom(n+cent), tempo.AmountFrom(n)), r.result())
	}
	c := r.client()
	for range 4 {
		if _, err := c.Explain(context.Background(), request, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// forgotten lists what arrived at the server before a power cut and is not in the file
// that the cut has left.
func forgotten(dir string, said []string) (lost []string) {
	list, err := Channels(filepath.Join(dir, "wallet"))
	if err != nil {
		return []string{err.Error()} // a torn file
	}
	channels := map[common.Hash]Channel{}
	for _, ch := range list {
		channels[ch.ID] = ch
	}
	deposits := map[common.Hash]tempo.Amount{}
	for _, line := range said {
		w := strings.Fields(line)
		switch {
		case len(w) == 1 && w[0] == "key":
			if _, err := ReadKey(filepath.Join(dir, "key")); err != nil {
				lost = append(lost, err.Error())
			}
			continue
		case len(w) != 3:
			continue // of the test itself
		}
		id, sum := common.HexToHash(w[1]), must(tempo.ParseAmount(w[2]))
		ch, there := channels[id]
		switch mpp.Action(w[0]) {
		case mpp.ActionOpen:
			deposits[id] = usd(4)
		case mpp.ActionTopUp:
			deposits[id], _ = deposits[id].Add(sum)
			sum = tempo.Amount{}
		}
		if !there || ch.Signed.Cmp(sum) < 0 {
			lost = append(lost, fmt.Sprintf("%s: %+v", line, ch))
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "wallet", "*"+fileSuffix))
	for id, deposit := range deposits {
		b, err := readBook(slices.Concat(paths, []string{"none"})[0])
		i := slices.IndexFunc(b.Channels, func(r row) bool { return r.ID == id })
		if err != nil || i < 0 || b.Channels[i].held().Cmp(deposit) < 0 || b.Channels[i].State == Opening && len(b.Channels[i].OpenTx) == 0 {
			lost = append(lost, fmt.Sprintf("deposit %s of %s: %v", deposit, id, errors.Join(err)))
		}
	}
	return lost
}

// TestPowerCut: a payload that has arrived anywhere is in the channel file after a
// power cut at any moment, and the file is never torn.
func TestPowerCut(t *testing.T) {
	root := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestPowerCutChild$")
	child.Env = append(os.Environ(), powercutEnv+"="+filepath.Join(root, "wallet"))
	rec := powercut.Record(t, root, child)
	if n := len(rec.Said(rec.Len())); n < 1+1+4+3 {
		t.Errorf("only %d payloads arrived", n)
	}
	rnd := dice.New(t)
	moments := slices.Repeat(rec.Renamed(), size.Of(1, 4))
	for range size.Of(20, 200) {
		moments = append(moments, rnd.IntN(rec.Len()+1))
	}
	faults := 0
	for n, at := range moments {
		to := t.TempDir()
		if err := rec.Cut(to, at, rnd); err != nil {
			t.Fatal(err)
		}
		if lost := forgotten(to, rec.Said(at)); len(lost) > 0 {
			t.Errorf("cut %d after event %d of %d: %s", n, at, rec.Len(), strings.Join(lost, "; "))
			if faults++; faults > 2 {
				return
			}
		}
	}
}
