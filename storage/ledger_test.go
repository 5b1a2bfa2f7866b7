package storage

import (
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

func amount(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

// signature is well-formed, and one for each n.
func signature(n byte) tempo.Signature {
	raw := make([]byte, 65)
	raw[0], raw[31], raw[63], raw[64] = 1, n, 1, 27
	s, err := tempo.ParseSignature(raw)
	if err != nil {
		panic(err)
	}
	return s
}

// fullRow has something in every field that is kept.
func fullRow(id byte) session.Channel {
	return session.Channel{
		ID: common.Hash{id}, ChainID: 42431, Escrow: common.Address{0x4d}, Status: session.Active,
		Descriptor: tempo.Descriptor{
			Payer: common.Address{1}, Payee: common.Address{2}, Operator: common.Address{3}, Token: common.Address{4},
			Salt: common.Hash{5}, AuthorizedSigner: common.Address{6}, ExpiringNonceHash: common.Hash{7},
		},
		Deposit: amount(1000), Settled: amount(200), CloseRequestedAt: 8, SeenAt: 9,
		Highest: session.Voucher{Cumulative: tempo.MaxAmount, Signature: signature(1)}, Settleable: session.Voucher{Cumulative: amount(300), Signature: signature(2)},
		Settling: amount(250), Spent: amount(400), Units: 10, OpenTx: common.Hash{11}, CloseTx: common.Hash{12},
		Close: session.Voucher{Cumulative: amount(500), Signature: signature(3)}, Capture: amount(410), Lost: amount(20),
		CreatedAt: 13, ActiveAt: 14, OwedSince: 15,
	}
}

func TestChannelRow(t *testing.T) {
	want := fullRow(1)
	raw := encodeChannel(want)
	want.Reserved = amount(5) // is not kept
	if got, err := decodeChannel(encodeChannel(want)); err != nil || got != fullRow(1) {
		t.Errorf("%+v, %v", got, err)
	}
	if empty, err := decodeChannel(encodeChannel(session.Channel{Status: session.Opening})); err != nil || empty != (session.Channel{Status: session.Opening}) {
		t.Errorf("%+v, %v", empty, err)
	}
	for n := range raw {
		if _, err := decodeChannel(raw[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	if _, err := decodeChannel(append(raw, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("too long: %v", err)
	}
}

func FuzzChannelRow(f *testing.F) {
	f.Add(encodeChannel(fullRow(1)))
	f.Add(encodeChannel(session.Channel{Status: session.Closed}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		row, err := decodeChannel(raw)
		if err != nil {
			return
		}
		again, err := decodeChannel(encodeChannel(row))
		if err != nil || again != row {
			t.Errorf("%+v became %+v, %v", row, again, err)
		}
	})
}

// TestLedger: entries are whole or not at all, and outlive the store.
func TestLedger(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{ExpireEvery: -1})
	job, other := actors.NewID(), actors.NewID()
	row, ended := fullRow(1), fullRow(2)
	bill := actors.Bill{ID: job, Collected: amount(1), Price: amount(3), Final: true}
	ticket := actors.Ticket{Key: actors.TicketKey{1}, Bill: job, Charged: amount(1)}
	intent := actors.Intent{ID: other, Kind: actors.IntentClose, Channels: []common.Hash{{1}}, Amounts: []tempo.Amount{amount(7)}, Raw: []byte{1, 2}, Hash: common.Hash{3}, ValidBefore: 4}
	if err := s.Commit(actors.Entry{Channel: &row, Bill: &bill, Ticket: &ticket, Intent: &intent}, actors.Entry{Channel: &ended}); err != nil {
		t.Fatal(err)
	}
	bad := actors.Bill{ID: "none"}
	gone := fullRow(3)
	if err := s.Commit(actors.Entry{Channel: &gone}, actors.Entry{Bill: &bad}); err == nil {
		t.Error("an entry without an id was taken")
	}
	ended.Status = session.Closed
	if err := s.Commit(actors.Entry{Channel: &ended}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir, Options{ExpireEvery: -1})
	defer s.Close()
	f := func(id byte, want session.Channel, wantErr error) {
		t.Helper()
		if got, err := s.Channel(common.Hash{id}); !errors.Is(err, wantErr) || err == nil && got != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	f(1, row, nil)
	f(2, ended, nil)
	f(3, session.Channel{}, actors.ErrNoChannel)
	var seen []common.Hash
	if err := s.OpenChannels(func(c session.Channel) error { seen = append(seen, c.ID); return nil }); err != nil || len(seen) != 1 || seen[0] != row.ID {
		t.Errorf("open %v, %v", seen, err)
	}
	if got, err := s.Bill(job); err != nil || got != bill {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Bill(other); !errors.Is(err, actors.ErrNoBill) {
		t.Error(err)
	}
	if got, err := s.Ticket(ticket.Key); err != nil || got != ticket {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := s.Intents(); err != nil || len(list) != 1 || list[0].ID != other || list[0].Amounts[0] != amount(7) || string(list[0].Raw) != "\x01\x02" || list[0].Hash != intent.Hash {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Commit(actors.Entry{Drop: other, Void: &ticket.Key, Forget: &row.ID}); err != nil {
		t.Fatal(err)
	}
	f(1, row, actors.ErrNoChannel)
	if _, err := s.Ticket(ticket.Key); !errors.Is(err, actors.ErrNoTicket) {
		t.Error(err)
	}
	if list, err := s.Intents(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestOpenChannelsPages: a visit may use the store, and sees every row once.
func TestOpenChannelsPages(t *testing.T) {
	s := open(t, t.TempDir(), Options{ExpireEvery: -1})
	defer s.Close()
	const n = 2*visitPage + 7
	var entries []actors.Entry
	for i := range n {
		row := fullRow(0)
		row.ID = common.BigToHash(amount(uint64(i + 1)).Big())
		entries = append(entries, actors.Entry{Channel: &row})
	}
	if err := s.Commit(entries...); err != nil {
		t.Fatal(err)
	}
	seen := map[common.Hash]bool{}
	err := s.OpenChannels(func(c session.Channel) error {
		seen[c.ID] = true
		_, err := s.Channel(c.ID)
		return err
	})
	if err != nil || len(seen) != n {
		t.Errorf("saw %d of %d, %v", len(seen), n, err)
	}
	id := func(i uint64) common.Hash { return common.BigToHash(amount(i).Big()) }
	f := func(ended bool, from common.Hash, limit, want int, wantNext *common.Hash) {
		t.Helper()
		rows, next, err := s.Channels(ended, from, limit)
		if err != nil || len(rows) != want || want > 0 && rows[0].ID != from || (next == nil) != (wantNext == nil) || next != nil && *next != *wantNext {
			t.Errorf("%d rows, next %v, %v", len(rows), next, err)
		}
	}
	f(false, id(5), 3, 3, new(id(8)))
	f(false, id(n-2), 3, 3, nil)
	f(false, id(n-2), 100, 3, nil)
	f(false, id(n+1), 3, 0, nil)
	f(true, common.Hash{}, 3, 0, nil)
}

// TestLedgerExpires: a bill goes a day after the run that it is for, and its ticket
// with it; channels stay.
func TestLedgerExpires(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), Options{ExpireEvery: -1, Now: func() time.Time { return now }})
	defer s.Close()
	id := actors.NewID()
	row, ticket := fullRow(1), actors.Ticket{Key: actors.TicketKey{1}, Bill: id, Charged: amount(1)}
	if err := s.Commit(actors.Entry{Channel: &row, Bill: &actors.Bill{ID: id}, Ticket: &ticket}); err != nil {
		t.Fatal(err)
	}
	f := func(age time.Duration, want bool) {
		t.Helper()
		now = time.Now().Add(age)
		if _, err := s.Expire(); err != nil {
			t.Fatal(err)
		}
		_, billErr := s.Bill(id)
		_, ticketErr := s.Ticket(ticket.Key)
		if _, err := s.Channel(row.ID); (billErr == nil) != want || (ticketErr == nil) != want || err != nil {
			t.Errorf("bill %v, ticket %v, channel %v", billErr, ticketErr, err)
		}
	}
	f(billRetention-time.Minute, true)
	f(billRetention+time.Minute, false)
}

// TestCommitThen: who does not wait is told all the same, also when it is too late.
func TestCommitThen(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	told := make(chan error, 1)
	row := fullRow(1)
	s.CommitThen(func(err error) { told <- err }, actors.Entry{Channel: &row})
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if got, err := s.Channel(row.ID); err != nil || got.ID != row.ID {
		t.Errorf("%+v, %v", got, err)
	}
	s.CommitThen(func(err error) { told <- err }, actors.Entry{Drop: "no id"})
	if err := <-told; err == nil {
		t.Error("an entry that cannot be written is")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.CommitThen(func(err error) { told <- err }, actors.Entry{Channel: &row})
	if err := <-told; !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}
