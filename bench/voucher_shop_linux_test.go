package bench

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// voucherShop is `txlens serve` in a process of its own, which sells on a sandbox
// that lives here.
type voucherShop struct {
	server  *exec.Cmd
	address string
	log     string // file that it logs to
	chain   *sandbox.Chain
	domain  *tempo.Domain
	payers  []*voucherPayer // with an open channel
}

// voucherPayer has one channel and one connection.
type voucherPayer struct {
	key       *tempo.Secp256k1Key
	ref       mpp.ChannelRef
	paid      uint64 // signed in all
	challenge *mpp.Challenge
	conn      net.Conn
	in        *bufio.Reader
}

// keyOf makes the same key of the same number.
func keyOf(b *testing.B, n uint32) (key *tempo.Secp256k1Key, secret common.Hash) {
	binary.BigEndian.PutUint32(secret[28:], n)
	key, err := tempo.NewSecp256k1Key(secret[:])
	if err != nil {
		b.Fatal(err)
	}
	return key, secret
}

// payee is above the numbers of all payers.
const payee = 1 << 20

// In base units: the least that a voucher may add, and a deposit for all vouchers of a
// payer.
const (
	voucherStep    = 10_000
	voucherDeposit = 900_000_000
)

// newVoucherShop builds the program and starts it. more are further flags.
func newVoucherShop(b *testing.B, cgo bool, more ...string) *voucherShop {
	fund := []sandbox.Funding{}
	for n := range voucherLoads[len(voucherLoads)-1].channels {
		key, _ := keyOf(b, uint32(n+1))
		fund = append(fund, sandbox.Funding{Account: key.Address(), Amount: *uint256.NewInt(1e9)})
	}
	key, secret := keyOf(b, payee)
	fund = append(fund, sandbox.Funding{Account: key.Address(), Amount: *uint256.NewInt(1e9)})
	chain, err := sandbox.New(sandbox.Options{Fund: fund})
	if err != nil {
		b.Fatal(err)
	}
	rpc := httptest.NewServer(chain)
	b.Cleanup(rpc.Close)
	dir := b.TempDir()
	keyFile, program := filepath.Join(dir, "key"), filepath.Join(dir, "txlens")
	if err := os.WriteFile(keyFile, []byte(secret.Hex()), 0o600); err != nil {
		b.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, "../cmd/txlens")
	build.Env = append(os.Environ(), map[bool]string{true: "CGO_ENABLED=1", false: "CGO_ENABLED=0"}[cgo])
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	s := &voucherShop{log: filepath.Join(dir, "log"), chain: chain, domain: tempo.NewDomain(chain.ChainID(), sandbox.Reserve)}
	s.start(b, exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--grace", "1s", "--rpc-only", "--rpc", "1=http://127.0.0.1:1",
		"--admin-listen", adminOfBench(), "--settle-rpc", rpc.URL, "--settle-chain", fmt.Sprint(chain.ChainID()), "--settle-token", sandbox.PathUSD.Hex(), "--settle-key-file", keyFile,
		"--realm", "127.0.0.1", "--voucher-rate", "0", "--open-rate", "0", "--open-rate-per-ip", "0"}, more...)...))
	return s
}

// adminOfBench is where the server can be profiled while it is measured:
// TXLENS_BENCH_ADMIN=127.0.0.1:8403.
func adminOfBench() string {
	if address := os.Getenv("TXLENS_BENCH_ADMIN"); address != "" {
		return address
	}
	return "off"
}

var servingAt = regexp.MustCompile(`msg=serving address=([0-9.:]+)`)

// start runs the server, which logs to a file as it does by default.
func (s *voucherShop) start(b *testing.B, cmd *exec.Cmd) {
	log, err := os.Create(s.log)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s.server = cmd
	b.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Errorf("serve: %v: %s", err, reported(s.log))
		}
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(s.log)
		if m := servingAt.FindSubmatch(raw); m != nil {
			s.address = string(m[1])
			return
		}
	}
	b.Fatalf("it does not serve: %s", reported(s.log))
}

// ask fetches a challenge.
func (s *voucherShop) ask(b *testing.B) *mpp.Challenge {
	resp, err := http.Post("http://"+s.address+"/explain", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	list, err := mpp.ParseChallenges(resp.Header.Values(mpp.HeaderChallenge)...)
	if err != nil || len(list) != 1 {
		b.Fatalf("%d challenges, %v of status %d", len(list), err, resp.StatusCode)
	}
	return &list[0]
}

// open returns n payers with an open channel each.
func (s *voucherShop) open(b *testing.B, n int) []*voucherPayer {
	var opening sync.WaitGroup
	turns := make(chan struct{}, 8)
	for i := len(s.payers); i < n; i++ {
		key, _ := keyOf(b, uint32(i+1))
		p := &voucherPayer{key: key}
		s.payers = append(s.payers, p)
		challenge := s.ask(b)
		opening.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := p.open(s, challenge); err != nil {
				b.Error(err)
			}
		})
	}
	if opening.Wait(); b.Failed() {
		b.FailNow()
	}
	return s.payers[:n]
}

func (p *voucherPayer) open(s *voucherShop, challenge *mpp.Challenge) error {
	q, err := challenge.SessionRequest()
	if err != nil {
		return err
	}
	call := tempo.OpenCall{Payee: q.Recipient, Token: q.Currency, Deposit: tempo.AmountFrom(voucherDeposit), Salt: common.Hash{1}, AuthorizedSigner: p.key.Address()}
	tx := tempo.NewTransaction(s.chain.ChainID(), uint64(time.Now().Unix()), tempo.CallReserve(sandbox.Reserve, call))
	tx.FeeToken, tx.Gas = sandbox.PathUSD, 300_000
	tx.MaxPriorityFeePerGas, tx.MaxFeePerGas = *uint256.NewInt(1e9), *uint256.NewInt(50e9)
	if err := tx.Sign(p.key.Address(), p.key); err != nil {
		return err
	}
	d, _, err := tempo.OpenedBy(tx, p.key.Address())
	if err != nil {
		return err
	}
	p.ref = mpp.ChannelRef{ChannelID: s.domain.ChannelID(d), Descriptor: d}
	sig, err := s.domain.Sign(p.key, p.ref.ChannelID, tempo.Amount{})
	if err != nil {
		return err
	}
	value, err := p.credential(s, challenge, &mpp.Open{ChannelRef: p.ref, Transaction: tx.Encode(), Signature: sig.Bytes()})
	if err != nil {
		return err
	}
	req, err := http.NewRequest("POST", "http://"+s.address+"/explain", nil)
	if err != nil {
		return err
	}
	req.Header.Set(mpp.HeaderAuthorization, value)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("open: %d %s", resp.StatusCode, body)
	}
	return nil
}

func (p *voucherPayer) credential(s *voucherShop, challenge *mpp.Challenge, payload mpp.Payload) (string, error) {
	return mpp.NewCredential(challenge, payload, mpp.Source{ChainID: s.chain.ChainID(), Address: p.key.Address()}).HeaderValue()
}

// request is the voucher as mppx 0.11.0 sends it while a stream waits, on the fetch
// of Node 20: these headers in this order, and no body.
func (p *voucherPayer) request(b *testing.B, s *voucherShop, amount tempo.Amount, sig tempo.Signature) []byte {
	value, err := p.credential(s, p.challenge, &mpp.Voucher{ChannelRef: p.ref, CumulativeAmount: amount, Signature: sig.Bytes()})
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Appendf(nil, "POST /explain HTTP/1.1\r\nhost: %s\r\nconnection: keep-alive\r\nAuthorization: %s\r\naccept: */*\r\naccept-language: *\r\n"+
		"sec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\ncontent-length: 0\r\n\r\n", s.address, value)
}

// reference is the published library's verifier, in a process of Node. nil: Node or
// the library is not there.
type reference struct {
	in  io.Writer
	out *bufio.Scanner
}

// newReference starts it in the folder where the lockfile pins the library.
func newReference(b *testing.B) *reference {
	const dir = "../e2e/mppx"
	missing := func(why error) *reference {
		if os.Getenv("TXLENS_REQUIRE_NODE") != "" {
			b.Fatal(why)
		}
		b.Logf("mppx is left out: %v", why)
		return nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return missing(err)
	}
	if _, err := os.Stat(dir + "/node_modules/mppx/package.json"); err != nil {
		return missing(fmt.Errorf("run npm ci in %s: %w", dir, err))
	}
	cmd := exec.Command(node, "verify.mjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	return &reference{in, bufio.NewScanner(out)}
}

// referenceShare is how many vouchers of a round the reference verifies: it is slow,
// and its first rounds make it as fast as it gets.
const referenceShare = 200

// verify returns the processor time of one verification in microseconds, all threads
// of Node; 0 where there is no reference.
func (r *reference) verify(b *testing.B, s *voucherShop, all []signed) float64 {
	if r == nil {
		return 0
	}
	type voucher struct {
		ChannelID        common.Hash    `json:"channelId"`
		CumulativeAmount string         `json:"cumulativeAmount"`
		Signature        string         `json:"signature"`
		Signer           common.Address `json:"signer"`
	}
	var round struct {
		Escrow   common.Address `json:"escrow"`
		ChainID  uint64         `json:"chainId"`
		Vouchers []voucher      `json:"vouchers"`
	}
	round.Escrow, round.ChainID = sandbox.Reserve, s.chain.ChainID()
	for _, v := range all[:min(len(all), referenceShare)] {
		sig := v.bare
		sig[64] += 27
		round.Vouchers = append(round.Vouchers, voucher{v.channel, fmt.Sprint(v.cumulative), fmt.Sprintf("0x%x", sig), v.signer})
	}
	if err := json.NewEncoder(r.in).Encode(round); err != nil {
		b.Fatal(err)
	}
	var micros float64
	if !r.out.Scan() {
		b.Fatalf("mppx ended: %v", r.out.Err())
	}
	if _, err := fmt.Sscan(r.out.Text(), &micros); err != nil || micros <= 0 {
		b.Fatalf("mppx: %q", r.out.Text())
	}
	return micros / float64(len(round.Vouchers))
}
