package service

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"txlens/app"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/transport/client"

	"github.com/holiman/uint256"
)

// Seller is a server that sells, on a settlement sandbox, with
// its first payer.
type Seller struct {
	*Payer
	World *World
	RPC   string   // of the sandbox
	Data  string   // folder of the server
	Sells []string // flags that make a server sell here
	Flags []string // further ones of this server
	Stop  func()
	// OtherBooks: the test changes what the store or the chain says, so that they need not agree
	// in the end.
	OtherBooks bool
}

// NewSeller starts a server that sells on a settlement sandbox of its own; more are further
// flags of txlens serve.
func NewSeller(t *testing.T, more ...string) *Seller {
	t.Helper()
	return NewSellerOn(t, sandbox.Options{}, more...)
}

// NewSellerOn is NewSeller on a chain of these options.
func NewSellerOn(t *testing.T, opt sandbox.Options, more ...string) *Seller {
	t.Helper()
	return newSeller(t, opt, func(*app.Options) {}, more...)
}

// NewSellerWith is NewSeller with options that no flag is for.
func NewSellerWith(t *testing.T, change func(*app.Options)) *Seller {
	t.Helper()
	return newSeller(t, sandbox.Options{}, change)
}

func newSeller(t *testing.T, opt sandbox.Options, change func(*app.Options), more ...string) *Seller {
	t.Helper()
	s := &Seller{World: NewWorld(t), Data: t.TempDir()}
	chain, rpc := NewSettlementChain(t, opt)
	s.RPC = rpc
	s.Sells = append(SaleFlags(t, rpc), "--call-price", "rpc=3000000")
	s.Flags = append([]string{"--admin-listen", "off"}, more...)
	if err := os.WriteFile(filepath.Join(s.Data, "challenge.key"), []byte(sellerSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	base, stop := startChanged(t, s.World, change, s.Args()...)
	s.Stop = stop
	s.Payer = NewPayer(t, base, s.World.Tx.Hash, chain, new(atomic.Uint32))
	t.Cleanup(func() {
		if !t.Failed() && !s.OtherBooks {
			s.CheckBooks(t)
		}
	})
	return s
}

// Restart stops the server and starts it again on the same books, with further
// flags.
func (s *Seller) Restart(more ...string) {
	s.T.Helper()
	s.Stop()
	s.Base, s.Stop = StartUntil(s.T, s.World, append(s.Args(), more...)...)
}

// Args are all flags of the server.
func (s *Seller) Args() []string {
	return slices.Concat([]string{"--data", s.Data}, s.Sells, s.Flags)
}

// sellerSecret authenticates the challenges of the seller.
const sellerSecret = "0123456789abcdef0123456789abcdef"

// issuer makes challenges that the server takes for its own.
func (s *Seller) issuer() *mpp.Issuer {
	s.T.Helper()
	issuer, err := mpp.NewIssuer([]byte(sellerSecret))
	if err != nil {
		s.T.Fatal(err)
	}
	return issuer
}

// Reissued is a challenge of the server after a change that the server itself might
// have made.
func (s *Seller) Reissued(ch *mpp.Challenge, change func(*mpp.Challenge, *mpp.SessionRequest)) *mpp.Challenge {
	s.T.Helper()
	out := *ch
	q, err := out.SessionRequest()
	if err != nil {
		s.T.Fatal(err)
	}
	change(&out, q)
	if out.Request, err = q.Encode(); err != nil {
		s.T.Fatal(err)
	}
	s.issuer().SetID(&out)
	return &out
}

// NewSettlementChain starts a sandbox on which the payee can pay fees.
func NewSettlementChain(t *testing.T, opt sandbox.Options) (chain *sandbox.Chain, rpc string) {
	t.Helper()
	payee, _ := SecretKey(PayeeKey)
	opt.Fund = append(opt.Fund, sandbox.Funding{Account: payee.Address(), Amount: *uint256.NewInt(1e12)})
	chain, err := sandbox.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(chain)
	t.Cleanup(server.Close)
	return chain, server.URL
}

// SaleFlags are the flags of a server that sells.
func SaleFlags(t *testing.T, rpc string) []string {
	t.Helper()
	return []string{
		"--settle-rpc",
		rpc,
		"--settle-chain",
		"42431",
		"--settle-token",
		sandbox.PathUSD.Hex(),
		"--settle-key-file",
		payeeKeyFile(t),
		"--realm",
		"shop.test",
		"--open-rate",
		"0",
		"--open-rate-per-ip",
		"0",
		"--voucher-rate",
		"0", // all payers of a test come from one address
		"--max-jobs-per-payer",
		"256",
		"--stranger-share",
		"100",
	}
}

func payeeKeyFile(t *testing.T) string {
	t.Helper()
	_, secret := SecretKey(PayeeKey)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Served buys one analysis and returns what it cost.
func (s *Seller) Served() uint64 {
	s.T.Helper()
	resp, ch, _ := s.Buy("POST", "/explain", "text/event-stream", `{"txHash":"`+s.World.Tx.Hash+`","chainId":1}`)
	last, rc, _ := s.Stream(resp, ch, "/explain")
	if rc == nil || last["type"] != "result" {
		s.T.Fatalf("%v, %+v", last["type"], rc)
	}
	return Price(s.T, last)
}

// Asked is a challenge.
func (s *Seller) Asked(method, path, body string) (status int, ch *mpp.Challenge, q *mpp.SessionRequest) {
	s.T.Helper()
	resp := s.Send(method, path, "", body, "")
	ch, q = s.Challenge(resp.Header)
	status, _ = ReadAnswer(s.T, resp)
	return status, ch, q
}

// AdminURL is where the operator reaches the server.
func (s *Seller) AdminURL() string {
	s.T.Helper()
	at, there := app.FindAdmin(s.Data)
	if !there {
		s.T.Fatal("no admin listener")
	}
	return at.URL
}

// NewClient makes a client that pays the seller.
func (s *Seller) NewClient(t *testing.T, dir string, limits client.Limits) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{
		Server: s.Base, Key: s.Key, Dir: dir, Limits: limits,
		Chain:   client.Chain{ID: s.Chain.ChainID(), Token: sandbox.PathUSD, RPC: []string{s.RPC}},
		OnMoney: func(m client.Money) { t.Logf("%s %s %s", m.Kind, m.Amount, m.Text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// SecondServer is another server of the same payee on the same chain, with books of its own.
func (s *Seller) SecondServer(more ...string) *Seller {
	s.T.Helper()
	other := &Seller{
		World: s.World,
		RPC:   s.RPC,
		Data:  s.T.TempDir(),
		Sells: s.Sells,
		Flags: append([]string{"--admin-listen", "127.0.0.1:0"}, more...),
	}
	base, stop := StartUntil(s.T, s.World, other.Args()...)
	other.Stop = stop
	other.Payer = NewPayer(s.T, base, s.hash, s.Chain, s.made)
	return other
}

// Readyz asks the operator's listener.
func (s *Seller) Readyz() (status int, body string) {
	s.T.Helper()
	return AskAdmin(s.T, s.Admin()+"/readyz")
}

// Admin is the URL of the admin listener.
func (s *Seller) Admin() string {
	s.T.Helper()
	at, there := app.FindAdmin(s.Data)
	if !there {
		s.T.Fatal("no admin listener")
	}
	return at.URL
}

// Metric reads one sample of the operator's listener.
func (s *Seller) Metric(sample string) float64 {
	s.T.Helper()
	_, scrape := AskAdmin(s.T, s.Admin()+"/metrics")
	return Metric(s.T, scrape, sample)
}

// Bill asks the run what it owes: nothing where it answers.
func (s *Seller) Bill(id string) (price uint64, owed uint64, err error) {
	s.T.Helper()
	got := s.Ask("GET", "/explain/run/"+id, "", "", "")
	if got.Status == http.StatusPaymentRequired {
		_, q := s.Challenge(got.Header)
		owed, _ = q.Amount.Uint64()
		return 0, owed, nil
	}
	var frame map[string]any
	run, _ := got.JSON(s.T)["frames"].([]any)
	if len(run) > 0 {
		frame, _ = run[len(run)-1].(map[string]any)
	}
	return FramePrice(s.T, frame), 0, nil
}

// Accepted is the highest voucher that the server has taken, by the snapshot of a
// refusal.
func (s *Seller) Accepted() uint64 {
	s.T.Helper()
	ch, _ := s.Terms("POST", PathJobs, "", s.Body(0))
	got := s.Ask("POST", PathJobs, "", s.Body(0), s.Credential(ch, s.Voucher(1)))
	s.Refused(got, mpp.VerificationFailed)
	_, q := s.Challenge(got.Header)
	if q.SessionSnapshot == nil {
		s.T.Fatal("no snapshot for a voucher that is too low")
	}
	n, _ := q.SessionSnapshot.AcceptedCumulative.Uint64()
	return n
}
