package decode

import (
	"bytes"
	"fmt"
	"math"
	"math/big"

	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Outcome is the effect of an EIP-7702 authorization.
type Outcome string

const (
	Applied Outcome = "applied" // the account's code was set, or removed
	Skipped Outcome = "skipped" // it was ignored, which fails no transaction
	Unknown Outcome = "unknown" // the evidence does not show it
)

// Authorization is one entry of the authorization list with its effect.
type Authorization struct {
	Authority *common.Address // who signed; nil when no account can be recovered from the signature
	Delegate  common.Address  // the account is set to run the code of this address; zero: the delegation is removed
	ChainID   *big.Int        // zero: any chain
	Nonce     uint64
	Outcome   Outcome
	Why       string // why it was skipped or is unknown; empty when applied
}

// maxRecovered bounds the signatures recovered of one list: a block of 36 million gas
// holds some 1,400 authorizations.
const maxRecovered = 2048

// Authorizations reports for each authorization of the transaction, in order, whether it
// was applied. Chain, signature and nonce of the tuple are checked without a state diff;
// the rest follows from nonce and code of the account before the transaction by the steps
// of EIP-7702, and counts only if the diff confirms the resulting nonce and code. diff may
// be nil.
func Authorizations(tx *ethrpc.Transaction, chainID uint64, diff *ethrpc.StateDiff) []Authorization {
	if len(tx.Authorizations) == 0 {
		return nil
	}
	list := make([]Authorization, len(tx.Authorizations))
	accounts := map[common.Address]*authority{}
	for i := range tx.Authorizations {
		a := &tx.Authorizations[i]
		out := &list[i]
		*out = Authorization{Delegate: a.Address, ChainID: a.ChainID, Nonce: a.Nonce, Outcome: Unknown, Why: "there is no state diff"}
		if i >= maxRecovered {
			out.Why = "the list is too long to look at"
			continue
		}
		signer, err := signerOf(a)
		if err == nil {
			out.Authority = &signer
		}
		switch {
		case a.ChainID != nil && a.ChainID.Sign() != 0 && (!a.ChainID.IsUint64() || a.ChainID.Uint64() != chainID):
			out.Outcome, out.Why = Skipped, "it is signed for another chain"
		case a.Nonce == math.MaxUint64:
			out.Outcome, out.Why = Skipped, "no account has that nonce"
		case err != nil:
			out.Outcome, out.Why = Skipped, "its signature gives no account"
		case diff != nil:
			if accounts[signer] == nil {
				accounts[signer] = authorityOf(tx, signer, diff)
			}
			accounts[signer].take(out)
		}
	}
	for _, a := range accounts { // each looks at its own entries only
		a.check()
	}
	return list
}

// signerOf recovers the signer.
func signerOf(a *ethrpc.Authorization) (common.Address, error) {
	var s types.SetCodeAuthorization
	for _, n := range []struct {
		to   *uint256.Int
		from *big.Int
	}{{&s.ChainID, a.ChainID}, {&s.R, a.R}, {&s.S, a.S}} {
		if n.from == nil {
			continue
		}
		if n.from.Sign() < 0 || n.to.SetFromBig(n.from) {
			return common.Address{}, fmt.Errorf("read authorization: a number does not fit 256 bits")
		}
	}
	s.Address, s.Nonce, s.V = a.Address, a.Nonce, a.V
	who, err := s.Authority()
	if err != nil {
		return common.Address{}, fmt.Errorf("recover signer: %w", err)
	}
	return who, nil
}

// authority is the state of one signing account while the list is processed.
type authority struct {
	touched     bool // the diff contains the account
	inDiff      bool // the diff contains the final code of the account
	nonce, last uint64
	code, final []byte
	taken       []*Authorization
}

// authorityOf returns the account before the first authorization. In a diff (go-ethereum's
// prestateTracer) a missing nonce means zero before and unchanged after. The sender's own
// nonce is incremented before the list is processed.
func authorityOf(tx *ethrpc.Transaction, who common.Address, diff *ethrpc.StateDiff) *authority {
	pre, post := diff.Pre[who], diff.Post[who]
	a := &authority{touched: pre != nil || post != nil}
	if pre != nil {
		a.code = pre.Code
		if pre.Nonce != nil {
			a.nonce = *pre.Nonce
		}
	}
	a.last, a.final = a.nonce, a.code
	if post != nil {
		if post.Nonce != nil {
			a.last = *post.Nonce
		}
		if post.Code != nil {
			a.final, a.inDiff = post.Code, true
		}
	}
	if who == tx.From {
		a.nonce++
	}
	return a
}

// take processes one authorization of the account.
func (a *authority) take(out *Authorization) {
	a.taken = append(a.taken, out)
	_, delegated := delegation(a.code)
	switch {
	case !a.touched:
		// Each one that is applied raises the nonce.
		out.Outcome, out.Why = Skipped, "the transaction did not change the account"
	case len(a.code) > 0 && !delegated:
		out.Outcome, out.Why = Skipped, "the account has code of its own"
	case out.Nonce != a.nonce:
		out.Outcome, out.Why = Skipped, fmt.Sprintf("it is signed for nonce %d, the account was at %d", out.Nonce, a.nonce)
	default:
		out.Outcome, out.Why = Applied, ""
		a.nonce++
		if a.code = nil; out.Delegate != (common.Address{}) {
			a.code = append([]byte{0xef, 0x01, 0x00}, out.Delegate[:]...)
		}
	}
}

// check compares the result with the diff. The nonce may be higher, because the account may
// have sent or created something as well. Older nodes omit code that was removed.
func (a *authority) check() {
	sameCode := bytes.Equal(a.code, a.final) || !a.inDiff && len(a.code) == 0
	if !a.touched || a.last >= a.nonce && sameCode {
		return
	}
	for _, out := range a.taken {
		out.Outcome, out.Why = Unknown, "the state diff does not show what the rules of EIP-7702 give"
	}
}
