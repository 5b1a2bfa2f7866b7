package mppx

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/engine/mpp/sandbox"
	"txlens/testkit/fixture"
	"txlens/testkit/size"
	"txlens/testkit/stubnode"
)

// payeeKey is that of parties.mjs.
const payeeKey = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"

// setting is what a script needs to run a server of its own and buy from it.
type setting struct {
	Program   string        `json:"program"`
	Chain     string        `json:"chain"` // URL of the settlement sandbox
	KeyFile   string        `json:"keyFile"`
	Data      string        `json:"data"`
	World     []string      `json:"world"` // flags of the recorded chain and the services beside it
	TxHash    string        `json:"txHash"`
	CallPrice uint64        `json:"callPrice"` // of one JSON-RPC call, in nano-dollars
	Longest   int           `json:"longest"`   // time before a kill at most, in milliseconds
	Patience  string        `json:"patience"`  // with a stream whose voucher is short
	slow      time.Duration // of each trace
}

// binary is the program, which all tests run.
var binary struct {
	once   sync.Once
	folder string
	err    error
}

// TestMain removes the program at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(binary.folder)
	os.Exit(code)
}

// txlens builds the program, once, and returns its path.
func txlens(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.folder, binary.err = os.MkdirTemp("", "txlens-mppx"); binary.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", binary.folder, "../../cmd/txlens").CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return filepath.Join(binary.folder, "txlens")
}

// newSetting starts all that is around a server.
func newSetting(t *testing.T) *setting {
	t.Helper()
	return newSlowSetting(t, 0)
}

// newSlowSetting is newSetting where each trace takes that long.
func newSlowSetting(t *testing.T, slow time.Duration) *setting {
	t.Helper()
	dir := t.TempDir()
	s := &setting{Program: txlens(t), KeyFile: filepath.Join(dir, "key"), Data: filepath.Join(dir, "data"), CallPrice: 3_000_000, slow: slow}
	if err := os.WriteFile(s.KeyFile, []byte(payeeKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chain, err := sandbox.New(sandbox.Options{BlockTime: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.Chain = served(t, httptest.NewServer(chain))
	s.world(t)
	return s
}

func served(t *testing.T, srv *httptest.Server) (url string) {
	t.Cleanup(srv.Close)
	return srv.URL
}

// world serves one recorded block with a swap, whose analysis asks every service.
func (s *setting) world(t *testing.T) {
	t.Helper()
	const swap = "0x8787d972e2"
	for _, b := range fixture.Blocks(t) {
		for _, tx := range b.Txs {
			if !strings.HasPrefix(tx.Hash, swap) {
				continue
			}
			s.TxHash = tx.Hash
			node := stubnode.New([]fixture.Block{b}, stubnode.Options{})
			if s.slow > 0 {
				node.SetFault("debug_traceTransaction", stubnode.Fault{Delay: s.slow})
			}
			s.World = []string{"--rpc-only", "--etherscan-key", "k3y", "--rpc", fmt.Sprintf("%d=%s", b.ChainID, node.Start(t))}
			sources := served(t, httptest.NewServer(stubnode.NewSources()))
			for _, name := range []string{"sourcify", "fourbyte", "etherscan", "blockscout", "llama"} {
				s.World = append(s.World, "--"+name+"-url", sources)
			}
			return
		}
	}
	t.Fatal("the recorded swap is missing")
}

// file writes the setting down and returns where.
func (s *setting) file(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "setting.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The SDK's client buys all that is sold, with every kind of key, across restarts of
// the server, and the chain's books balance at the end.
func TestServeSellsToTheSDK(t *testing.T) {
	program(t)
	t.Parallel()
	withEachViem(t, func(t *testing.T, args ...string) { nodeWith(t, args, "txlens.mjs", newSetting(t).file(t)) })
}

// olderClients are versions of the SDK whose client still buys, besides that of package.json.
var olderClients = []string{"0.7.0", "0.8.6", "0.8.19", "0.9.3", "0.10.1"}

// The clients of the SDK before buy what the present one does: they deposit, poll a job, stream,
// top up and close.
func TestServeSellsToOlderClients(t *testing.T) {
	program(t)
	t.Parallel()
	setting := newSetting(t)
	for i, version := range olderClients[:size.Of(1, len(olderClients))] {
		alias := "mppx-" + version
		var installed struct{ Version string }
		text, err := os.ReadFile(filepath.Join("node_modules", alias, "package.json"))
		if err != nil || json.Unmarshal(text, &installed) != nil || installed.Version != version {
			t.Fatalf("%s is not installed; run npm ci in e2e/mppx: %q, %v", alias, installed.Version, err)
		}
		s := *setting
		s.Data = filepath.Join(t.TempDir(), fmt.Sprint("data", i))
		t.Run(version, func(t *testing.T) {
			nodeWith(t, []string{"--import", "./older.mjs?" + alias}, "txlens.mjs", s.file(t), "a secp256k1 account")
		})
	}
}

// A server is killed in the middle of runs, and the SDK's client repeats its requests:
// it pays for what it gets, to the cent. TXLENS_KILLS asks for more of them.
func TestKilledAndRepeated(t *testing.T) {
	program(t)
	t.Parallel()
	kills := os.Getenv("TXLENS_KILLS")
	if kills == "" {
		kills = size.Of("3", "6")
	}
	s := newSlowSetting(t, 150*time.Millisecond)
	s.Longest = 400
	node(t, "killed.mjs", s.file(t), kills)
}

// The SDK's validator finds nothing wrong with what it can reach.
func TestServeIsValid(t *testing.T) {
	program(t)
	t.Parallel()
	s := newSetting(t)
	s.Patience = size.Of("1s", "3s")
	node(t, "validate.mjs", s.file(t))
}

// What SKILL.md says to a buyer with the SDK works as it stands there.
func TestSkillWithTheSDK(t *testing.T) {
	program(t)
	t.Parallel()
	node(t, "skill.mjs", newSetting(t).file(t))
}
