package admin

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"

	"txlens/engine/mpp/tempo"
)

// ChannelOperator lists and settles the payment channels. It is safe for concurrent
// use.
type ChannelOperator interface {
	// Channels returns one page of channels, in the order of their ids.
	Channels(q ChannelQuery) (ChannelPage, error)
	// Settle pays out. The error of one channel is in its Payout; the returned error concerns
	// the whole request.
	Settle(ctx context.Context, q SettleRequest) (SettleReport, error)
}

// Limits of one answer.
const (
	DefaultPage = 100
	MaxPage     = 1000
	// MaxSettle is the maximum number of channels in one request to settle.
	MaxSettle = 64
)

// ChannelQuery selects channels, beginning at an id.
type ChannelQuery struct {
	From  common.Hash
	Limit int
	Ended bool // closed channels instead of open ones
}

// ChannelPage is one page of the list.
type ChannelPage struct {
	Channels []Channel    `json:"channels"`
	Next     *common.Hash `json:"next,omitzero"` // id of the next page; nil: this is the last page
}

// Channel is one payment channel. Amounts are base units of the token, as decimal text.
type Channel struct {
	ID       common.Hash    `json:"channelId"`
	State    string         `json:"state"` // opening, active, closing or closed
	Payer    common.Address `json:"payer"`
	Payee    common.Address `json:"payee"`
	Operator common.Address `json:"operator"`
	Token    common.Address `json:"token"`
	Signer   common.Address `json:"signer"` // address that signs the vouchers
	Deposit  tempo.Amount   `json:"deposit"`
	Accepted tempo.Amount   `json:"accepted"` // amount of the highest voucher
	Spent    tempo.Amount   `json:"spent"`    // amount of the analyses that were delivered
	// Credit is the part of Spent that was given back, because an analysis cost less in the end.
	Credit    tempo.Amount `json:"credit,omitzero"`
	Charges   uint64       `json:"charges"`
	Settled   tempo.Amount `json:"settled"`   // paid out on chain
	Unsettled tempo.Amount `json:"unsettled"` // served and not paid out
	// Excess is what was paid out above what was served, because the payer rejects its refund.
	Excess tempo.Amount `json:"excess,omitzero"`
	// Payable is the amount that settling would pay out now, and Obstacle why it is less than
	// Unsettled: opening, closing, closed or voucher_above_served.
	Payable  tempo.Amount `json:"payable"`
	Obstacle string       `json:"obstacle,omitzero"`
	Lost     tempo.Amount `json:"lost"` // served, but it can no longer be paid out
	OpenTx   *common.Hash `json:"openTx,omitzero"`
	CloseTx  *common.Hash `json:"closeTx,omitzero"`

	CreatedAt time.Time `json:"createdAt"`
	ActiveAt  time.Time `json:"activeAt"` // time of the last voucher or charge
	// CloseRequestedAt is when the payer requested the close on chain.
	CloseRequestedAt *time.Time `json:"closeRequestedAt,omitzero"`
}

// SettleRequest selects what to pay out: up to MaxSettle named channels, or the next MaxSettle
// beginning at an id.
type SettleRequest struct {
	Channels []common.Hash `json:"channels,omitzero"`
	From     common.Hash   `json:"from"`
	// Close also closes the channels: the served amount is paid out, the rest goes back to the
	// payer.
	Close bool `json:"close,omitzero"`
}

// SettleReport is the outcome of a SettleRequest.
type SettleReport struct {
	Payouts []Payout     `json:"payouts"`
	Next    *common.Hash `json:"next,omitzero"` // id for the next request; nil: there are no more channels
}

// Payout is the outcome for one channel. If nothing was owed, Paid, Left and Error are
// missing.
type Payout struct {
	ID       common.Hash  `json:"channelId"`
	Paid     tempo.Amount `json:"paid"` // paid by Tx; if Error is set it is not certain
	Tx       *common.Hash `json:"tx,omitzero"`
	Left     tempo.Amount `json:"left"` // served and not paid out yet
	Obstacle string       `json:"obstacle,omitzero"`
	Error    string       `json:"error,omitzero"`
	// Pending means that a transaction was sent and its outcome is not known yet. The server
	// checks it later.
	Pending bool `json:"pending,omitzero"`
}

const notSold = "this server sells nothing: it runs without --settle-rpc"

// channels answers GET /channels?from=ID&limit=N&ended=1.
func (s *Server) channels(w http.ResponseWriter, r *http.Request) {
	if s.cfg().Channels == nil {
		http.Error(w, notSold, http.StatusNotFound)
		return
	}
	q := ChannelQuery{Limit: DefaultPage}
	values := r.URL.Query()
	if text := values.Get("from"); text != "" && q.From.UnmarshalText([]byte(text)) != nil {
		http.Error(w, "from: want a channel id, 0x and 64 hex digits", http.StatusBadRequest)
		return
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxPage {
			http.Error(w, "limit: want a number from 1 to "+strconv.Itoa(MaxPage), http.StatusBadRequest)
			return
		}
		q.Limit = n
	}
	q.Ended = values.Get("ended") != ""
	page, err := s.cfg().Channels.Channels(q)
	if err != nil {
		s.cfg().Log.Error("list channels", "error", err)
		http.Error(w, "the ledger cannot be read; the log says why", http.StatusServiceUnavailable)
		return
	}
	answerJSON(w, page)
}

// settle answers POST /settle. It requires a content type that a form of a web page cannot
// have.
func (s *Server) settle(w http.ResponseWriter, r *http.Request) {
	if s.cfg().Channels == nil {
		http.Error(w, notSold, http.StatusNotFound)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "want a body of application/json", http.StatusUnsupportedMediaType)
		return
	}
	q, err := readSettle(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.settling.TryLock() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "another request settles at this moment", http.StatusConflict)
		return
	}
	defer s.settling.Unlock()
	report, err := s.cfg().Channels.Settle(r.Context(), q)
	if err != nil {
		s.cfg().Log.Error("settle", "error", err)
		http.Error(w, "nothing was settled: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	answerJSON(w, report)
}

func readSettle(body io.Reader) (q SettleRequest, err error) {
	switch err := json.UnmarshalRead(body, &q, json.RejectUnknownMembers(true)); {
	case err != nil:
		return q, errors.New("want {\"channels\": [ids], \"close\": bool} or {\"from\": id}")
	case len(q.Channels) > MaxSettle:
		return q, errors.New("channels: at most " + strconv.Itoa(MaxSettle) + " at a time")
	case q.Close && len(q.Channels) == 0:
		return q, errors.New("close: name the channels that are to end")
	}
	return q, nil
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.MarshalWrite(w, v) // the client is gone, so nobody reads an error
}
