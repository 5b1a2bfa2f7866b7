package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/holiman/uint256"

	"txlens/engine/api"
	"txlens/engine/mpp/sandbox"
	"txlens/testkit/service"
)

// TestDocumentsOfThisServer: what the documents say of payment are the flags of the
// server that sends them, and what its challenges offer.
func TestDocumentsOfThisServer(t *testing.T) {
	s := service.NewSeller(t, "--min-deposit", "3.7", "--suggested-deposit", "23", "--exposure", "0.41", "--voucher-patience", "47s", "--deadline", "7m",
		"--provider", "openai", "--provider-url", "http://127.0.0.1:1/v1", "--model-id", "*=none", "--model-price", "*=0", "--model-budget", "4.7")
	f := func(path string, says ...string) {
		t.Helper()
		doc := s.Ask("GET", path, "", "", "")
		for _, text := range says {
			if doc.Status != 200 || !strings.Contains(doc.Body, text) {
				t.Errorf("%s: %d, without %q", path, doc.Status, text)
			}
		}
	}
	f("/SKILL.md", "Every 402 suggests\n   $23.", "$46 is recommended", "less than $3.70 is refused", "at most $0.41 is unpaid", "waits 47 seconds", "collected for 90 seconds", "up to $4.7 in one analysis",
		"--settle-chain 42431 --settle-token "+sandbox.PathUSD.Hex())
	f("/llms-full.txt", "| suggested deposit | $23 |", "| minimum deposit | $3.70 |", "| voucher missing | 47 seconds,")
	f("/tool-spec.json", "for 90 seconds is aborted")
	_, q := s.Terms("POST", service.PathStream, service.EventStream, s.Body(0))
	if q.SuggestedDeposit.String() != "23000000" || q.ChainID != 42431 {
		t.Errorf("the challenge suggests %s on chain %d", q.SuggestedDeposit, q.ChainID)
	}
}

// TestSkillCommands: the commands for this program that a server gives in SKILL.md
// buy an analysis when they are run as they stand.
func TestSkillCommands(t *testing.T) {
	s := service.NewSeller(t)
	_, secret := service.SecretKey(8)
	dir := t.TempDir()
	key := filepath.Join(dir, "payer.key")
	if err := os.WriteFile(key, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	payer, _ := service.SecretKey(8)
	if err := s.Chain.Mint(sandbox.PathUSD, payer.Address(), uint256.NewInt(1e12)); err != nil {
		t.Fatal(err)
	}
	skill := s.Ask("GET", "/SKILL.md", "", "", "").Body
	lines := regexp.MustCompile(`(?m)^txlens (explain .*)$`).FindAllStringSubmatch(skill, -1)
	if len(lines) == 0 {
		t.Fatalf("no command in %s", skill)
	}
	hash := regexp.MustCompile(api.HashPattern[1 : len(api.HashPattern)-1])
	for _, line := range lines {
		args := strings.Fields(hash.ReplaceAllString(line[1], s.World.Tx.Hash))
		for i, arg := range args {
			if arg == "payer.key" {
				args[i] = key
			}
		}
		// The sandbox is no chain that the client knows, and its wallet is a test's.
		args = append(args, "--settle-rpc", s.RPC, "--wallet-dir", filepath.Join(dir, "wallet"), "--json")
		code, out, errOut := command(t, "", args...)
		var res api.Result
		if err := json.Unmarshal([]byte(out), &res); code != 0 || err != nil || string(res.TxHash) != s.World.Tx.Hash {
			t.Errorf("txlens %s: exit code %d, %v\n%s%s", line[1], code, err, out, errOut)
		}
	}
	if rows := s.Chain.Books().Channels; len(rows) != 1 {
		t.Errorf("%d channels were opened", len(rows))
	}
}
