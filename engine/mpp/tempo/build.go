package tempo

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/holiman/uint256"
)

// validity is how many seconds a new transaction may wait; the chain allows ExpiringWindow.
const validity = 25

// ErrNoOpen means a transaction that does not end in a call of open.
var ErrNoOpen = errors.New("transaction does not open a channel")

// NewTransaction makes an unsigned transaction with the expiring nonce, valid
// until 25 seconds after now (Unix). Gas, fees and fee token are the caller's to
// set. Two that are otherwise equal need a different ValidAfter in the past.
func NewTransaction(chainID, now uint64, calls ...Call) *Transaction {
	return &Transaction{ChainID: chainID, Calls: calls, NonceKey: ExpiringNonceKey, ValidBefore: now + validity}
}

// CallReserve is a call of the reserve at escrow.
func CallReserve(escrow common.Address, call ReserveCall) Call {
	return Call{To: &escrow, Data: call.Calldata()}
}

// FeeCap is a fee per gas that outlives a few fuller blocks: 1.2 times the base
// fee, and the priority fee.
func FeeCap(baseFee, priority *uint256.Int) uint256.Int {
	var limit uint256.Int
	limit.Mul(baseFee, uint256.NewInt(12))
	limit.Div(&limit, uint256.NewInt(10))
	return *limit.Add(&limit, priority)
}

// OpenedBy is the channel that tx opens when payer signs it, and its deposit.
// It holds from the moment that all but the signatures are set.
func OpenedBy(tx *Transaction, payer common.Address) (Descriptor, Amount, error) {
	if len(tx.Calls) == 0 {
		return Descriptor{}, Amount{}, ErrNoOpen
	}
	call, err := DecodeReserveCall(tx.Calls[len(tx.Calls)-1].Data)
	if err != nil {
		return Descriptor{}, Amount{}, fmt.Errorf("read open: %w", err)
	}
	open, ok := call.(OpenCall)
	if !ok {
		return Descriptor{}, Amount{}, ErrNoOpen
	}
	return Descriptor{
		Payer: payer, Payee: open.Payee, Operator: open.Operator, Token: open.Token,
		Salt: open.Salt, AuthorizedSigner: open.AuthorizedSigner, ExpiringNonceHash: tx.ExpiringNonceHash(payer),
	}, open.Deposit, nil
}

// MaySettle reports whether account may settle and close the channel; the money
// goes to the payee either way.
func (d Descriptor) MaySettle(account common.Address) bool {
	return account == d.Payee || account == d.Operator && account != (common.Address{})
}

// callRequest is one call of a request.
type callRequest struct {
	To    *common.Address `json:"to,omitempty"`
	Value string          `json:"value"`
	Data  hexutil.Bytes   `json:"data"`
}

// transactionRequest is the transaction object of JSON-RPC. Its type is 0x76 for
// a hand-off, too: only the envelope has another byte.
type transactionRequest struct {
	From        common.Address  `json:"from"`
	ChainID     *hexutil.Uint64 `json:"chainId,omitempty"`
	Type        hexutil.Uint64  `json:"type"`
	Nonce       hexutil.Uint64  `json:"nonce"`
	NonceKey    string          `json:"nonceKey"`
	Calls       []callRequest   `json:"calls"`
	FeeToken    *common.Address `json:"feeToken,omitempty"`
	FeePayer    bool            `json:"feePayer,omitzero"`
	ValidBefore *hexutil.Uint64 `json:"validBefore,omitempty"`
	ValidAfter  *hexutil.Uint64 `json:"validAfter,omitempty"`
}

// FillRequest is the parameter of eth_fillTransaction for what tx still lacks:
// gas and fees.
func (tx *Transaction) FillRequest(from common.Address) ([]byte, error) { return tx.request(from, nil) }

// EstimateRequest is the parameter of eth_estimateGas and, as a simulation, of
// eth_call: FillRequest with the chain id.
func (tx *Transaction) EstimateRequest(from common.Address) ([]byte, error) {
	chainID := hexutil.Uint64(tx.ChainID)
	return tx.request(from, &chainID)
}

func (tx *Transaction) request(from common.Address, chainID *hexutil.Uint64) ([]byte, error) {
	r := transactionRequest{
		From: from, ChainID: chainID, Type: TypeTransaction, Nonce: hexutil.Uint64(tx.Nonce), NonceKey: tx.NonceKey.Hex(),
		FeePayer: tx.Sponsorship == Unsponsored ||
			tx.Sponsorship == HandOff, ValidBefore: present(tx.ValidBefore), ValidAfter: present(tx.ValidAfter),
	}
	if tx.FeeToken != (common.Address{}) && !r.FeePayer {
		r.FeeToken = &tx.FeeToken
	}
	for _, c := range tx.Calls {
		value := "0x" // as clients write nothing
		if !c.Value.IsZero() {
			value = c.Value.Hex()
		}
		r.Calls = append(r.Calls, callRequest{To: c.To, Value: value, Data: c.Data})
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode transaction request: %w", err)
	}
	return b, nil
}

func present(v uint64) *hexutil.Uint64 {
	if v == 0 {
		return nil
	}
	return (*hexutil.Uint64)(&v)
}
