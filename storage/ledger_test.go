package storage

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	bolt "go.etcd.io/bbolt"

	"txlens/actors/channel"
	"txlens/actors/recordid"
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
		Settling: amount(250), Authorised: amount(260), Spent: amount(400), Credit: amount(30), Units: 10, OpenTx: common.Hash{11}, CloseTx: common.Hash{12},
		Close: session.Voucher{Cumulative: amount(500), Signature: signature(3)}, Capture: amount(410), Lost: amount(20),
		CreatedAt: 13, ActiveAt: 14, OwedSince: 15,
	}
}

func TestChannelRow(t *testing.T) {
	want := fullRow(1)
	raw := EncodeChannel(want)
	want.Reserved = amount(5) // is not kept
	if got, err := decodeChannel(EncodeChannel(want)); err != nil || got != fullRow(1) {
		t.Errorf("%+v, %v", got, err)
	}
	if empty, err := decodeChannel(EncodeChannel(session.Channel{Status: session.Opening})); err != nil || empty != (session.Channel{Status: session.Opening}) {
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

// TestOlderRows: a row of an earlier layout lacks what later ones added. Nothing that may
// have been authorised is called foreign.
func TestOlderRows(t *testing.T) {
	f := func(layout byte, change func(*session.Channel), authorised uint64) {
		t.Helper()
		want := fullRow(1)
		want.Spent, want.Settled, want.Settling, want.Capture = amount(40), amount(30), amount(35), amount(0)
		change(&want)
		raw := EncodeChannel(want)
		raw = raw[:len(raw)-12*int(rowLayout-layout)]
		raw[0] = layout
		if layout < rowLayoutCredit {
			want.Credit = tempo.Amount{}
		}
		want.Authorised = amount(authorised)
		if got, err := decodeChannel(raw); err != nil || got != want || got.Foreign() {
			t.Errorf("layout %d: %+v, %v", layout, got, err)
		}
	}
	for _, layout := range []byte{rowLayoutFirst, rowLayoutCredit} {
		f(layout, func(c *session.Channel) {}, 40)
		f(layout, func(c *session.Channel) { c.Settled = amount(50) }, 50)
		f(layout, func(c *session.Channel) { c.Settling = amount(60) }, 60)
		f(layout, func(c *session.Channel) { c.Capture = amount(70) }, 70)
	}
	raw := EncodeChannel(fullRow(1))
	for _, layout := range []byte{0, rowLayout + 1} {
		raw[0] = layout
		if _, err := decodeChannel(raw); !errors.Is(err, ErrDamaged) {
			t.Errorf("layout %d: %v", layout, err)
		}
	}
}

func FuzzChannelRow(f *testing.F) {
	f.Add(EncodeChannel(fullRow(1)))
	f.Add(EncodeChannel(session.Channel{Status: session.Closed}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		row, err := decodeChannel(raw)
		if err != nil {
			return
		}
		again, err := decodeChannel(EncodeChannel(row))
		if err != nil || again != row {
			t.Errorf("%+v became %+v, %v", row, again, err)
		}
	})
}

// TestLedger: entries are whole or not at all, and outlive the store.
func TestLedger(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{ExpireEvery: -1})
	job, other := recordid.New(), recordid.New()
	row, ended := fullRow(1), fullRow(2)
	bill := channel.Bill{ID: job, Collected: amount(1), Price: amount(3), Final: true}
	ticket := channel.Ticket{Key: channel.TicketKey{1}, Bill: job, Charged: amount(1)}
	intent := channel.Intent{ID: other, Kind: channel.IntentClose, Channels: []common.Hash{{1}}, Amounts: []tempo.Amount{amount(7)}, Raw: []byte{1, 2}, Hash: common.Hash{3}, ValidBefore: 4}
	if err := s.Commit(channel.Entry{Channel: &row, Bill: &bill, Ticket: &ticket, Intent: &intent}, channel.Entry{Channel: &ended}); err != nil {
		t.Fatal(err)
	}
	bad := channel.Bill{ID: "none"}
	gone := fullRow(3)
	if err := s.Commit(channel.Entry{Channel: &gone}, channel.Entry{Bill: &bad}); err == nil {
		t.Error("an entry without an id was taken")
	}
	ended.Status = session.Closed
	if err := s.Commit(channel.Entry{Channel: &ended}); err != nil {
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
	f(3, session.Channel{}, channel.ErrNoChannel)
	var seen []common.Hash
	if err := s.OpenChannels(func(c session.Channel) error { seen = append(seen, c.ID); return nil }); err != nil || len(seen) != 1 || seen[0] != row.ID {
		t.Errorf("open %v, %v", seen, err)
	}
	if got, err := s.Bill(job); err != nil || got != bill {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Bill(other); !errors.Is(err, channel.ErrNoBill) {
		t.Error(err)
	}
	if got, err := s.Ticket(ticket.Key); err != nil || got != ticket {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := s.Intents(); err != nil || len(list) != 1 || list[0].ID != other || list[0].Amounts[0] != amount(7) || string(list[0].Raw) != "\x01\x02" || list[0].Hash != intent.Hash {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Commit(channel.Entry{Drop: other, Void: &ticket.Key, Forget: &row.ID}); err != nil {
		t.Fatal(err)
	}
	f(1, row, channel.ErrNoChannel)
	if _, err := s.Ticket(ticket.Key); !errors.Is(err, channel.ErrNoTicket) {
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
	var entries []channel.Entry
	for i := range n {
		row := fullRow(0)
		row.ID = common.BigToHash(amount(uint64(i + 1)).Big())
		entries = append(entries, channel.Entry{Channel: &row})
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
	id := recordid.New()
	row, ticket := fullRow(1), channel.Ticket{Key: channel.TicketKey{1}, Bill: id, Charged: amount(1)}
	if err := s.Commit(channel.Entry{Channel: &row, Bill: &channel.Bill{ID: id}, Ticket: &ticket}); err != nil {
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
	s.CommitThen(func(err error) { told <- err }, channel.Entry{Channel: &row})
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if got, err := s.Channel(row.ID); err != nil || got.ID != row.ID {
		t.Errorf("%+v, %v", got, err)
	}
	s.CommitThen(func(err error) { told <- err }, channel.Entry{Drop: "no id"})
	if err := <-told; err == nil {
		t.Error("an entry that cannot be written is")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.CommitThen(func(err error) { told <- err }, channel.Entry{Channel: &row})
	if err := <-told; !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// TestDebts: the index holds the bills of a payer that are final and not paid, oldest
// first, and no others.
func TestDebts(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), Options{ExpireEvery: -1, Now: func() time.Time { return now }})
	defer s.Close()
	payer, other := common.Address{1}, common.Address{2}
	ids := []string{recordid.New(), recordid.New(), recordid.New(), recordid.New(), recordid.New()}
	put := func(i int, payer common.Address, price, collected uint64, final bool) {
		t.Helper()
		b := channel.Bill{ID: ids[i], Payer: payer, Channel: common.Hash{9}, Price: amount(price), Collected: amount(collected), Final: final}
		if err := s.Commit(channel.Entry{Bill: &b}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(payer common.Address, want ...int) {
		t.Helper()
		list, err := s.Debts(payer)
		if err != nil || len(list) != len(want) {
			t.Fatalf("%+v, %v; want %v", list, err, want)
		}
		for i, b := range list {
			if whole, err := s.Bill(b.ID); b.ID != ids[want[i]] || err != nil || whole != b {
				t.Errorf("debt %d is %+v, %v", i, b, err)
			}
		}
	}
	put(1, payer, 30, 10, true)
	put(0, payer, 20, 0, true)
	put(2, payer, 30, 10, false) // at work
	put(3, payer, 30, 30, true)  // paid
	put(4, other, 30, 0, true)
	f(payer, 0, 1)
	f(other, 4)
	f(common.Address{3})
	put(1, payer, 30, 30, true)
	put(2, payer, 30, 10, true)
	f(payer, 0, 2)
	now = now.Add(billRetention + time.Minute)
	f(payer) // also before they are deleted
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	now = time.Now()
	f(payer)
	put(0, payer, 20, 0, true)
	f(payer, 0)
}

// TestDebtsBound: of very many no more are read than are looked at.
func TestDebtsBound(t *testing.T) {
	s := open(t, t.TempDir(), Options{ExpireEvery: -1})
	defer s.Close()
	var entries []channel.Entry
	for range channel.MaxDebts + 5 {
		entries = append(entries, channel.Entry{Bill: &channel.Bill{ID: recordid.New(), Payer: common.Address{1}, Price: amount(1), Final: true}})
	}
	if err := s.Commit(entries...); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Debts(common.Address{1}); err != nil || len(list) != channel.MaxDebts || list[0].ID != entries[0].Bill.ID {
		t.Errorf("%d debts, %v", len(list), err)
	}
}

// TestChannelsOf: a payer's channels are found until they end.
func TestChannelsOf(t *testing.T) {
	s := open(t, t.TempDir(), Options{ExpireEvery: -1})
	defer s.Close()
	row := func(id, payer byte, status session.Status) *session.Channel {
		r := fullRow(id)
		r.Descriptor.Payer, r.Status = common.Address{payer}, status
		return &r
	}
	put := func(e ...channel.Entry) {
		t.Helper()
		if err := s.Commit(e...); err != nil {
			t.Fatal(err)
		}
	}
	f := func(payer byte, want ...byte) {
		t.Helper()
		ids, err := s.ChannelsOf(common.Address{payer})
		if err != nil || len(ids) != len(want) {
			t.Fatalf("%v, %v; want %v", ids, err, want)
		}
		for i, id := range ids {
			if id != (common.Hash{want[i]}) {
				t.Errorf("channel %d is %s", i, id)
			}
		}
	}
	put(channel.Entry{Channel: row(1, 1, session.Opening)}, channel.Entry{Channel: row(2, 1, session.Active)}, channel.Entry{Channel: row(3, 2, session.Active)})
	f(1, 1, 2)
	f(2, 3)
	put(channel.Entry{Channel: row(2, 1, session.Active)})
	f(1, 1, 2)
	put(channel.Entry{Channel: row(2, 1, session.Closed)}, channel.Entry{Forget: &common.Hash{1}})
	f(1)
	put(channel.Entry{Channel: row(2, 1, session.Active)}) // its end was undone
	f(1, 2)
}

// TestTicketsOfABill: several tickets lead to one bill and expire with it, but for one
// that has become another bill's.
func TestTicketsOfABill(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), Options{ExpireEvery: -1, Now: func() time.Time { return now }})
	defer s.Close()
	first := recordid.New()
	ticket := func(key byte, bill string) *channel.Ticket {
		return &channel.Ticket{Key: channel.TicketKey{key}, Bill: bill, Charged: amount(uint64(key))}
	}
	f := func(key byte, want string) {
		t.Helper()
		got, err := s.Ticket(channel.TicketKey{key})
		if want == "" && !errors.Is(err, channel.ErrNoTicket) || want != "" && (err != nil || got != *ticket(key, want)) {
			t.Errorf("ticket %d: %+v, %v; want %q", key, got, err, want)
		}
	}
	put := func(e channel.Entry) {
		t.Helper()
		if err := s.Commit(e); err != nil {
			t.Fatal(err)
		}
	}
	put(channel.Entry{Bill: &channel.Bill{ID: first}, Ticket: ticket(1, first), Request: ticket(2, first)})
	put(channel.Entry{Ticket: ticket(3, first)})
	put(channel.Entry{Ticket: ticket(3, first)})
	now = now.Add(time.Hour)
	later := idAt(now, rand.New(rand.NewPCG(1, 2)))
	put(channel.Entry{Bill: &channel.Bill{ID: later}, Ticket: ticket(4, later), Request: ticket(2, later)})
	f(1, first)
	f(2, later)
	f(3, first)
	now = time.Now().Add(billRetention + time.Minute)
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	f(1, "")
	f(2, later)
	f(3, "")
	f(4, later)
	put(channel.Entry{Void: &channel.TicketKey{4}, VoidRequest: &channel.TicketKey{2}})
	f(2, "")
	f(4, "")
}

// TestIndexOfAnOlderFile: a file of the layout before has its channels in the index of
// payers once it is opened.
func TestIndexOfAnOlderFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{ExpireEvery: -1})
	row, ended := fullRow(1), fullRow(2)
	ended.Status = session.Closed
	if err := s.Commit(channel.Entry{Channel: &row}, channel.Entry{Channel: &ended}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	db, err := bolt.Open(filepath.Join(dir, FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range slices.Concat(layouts[2:]...) {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keySchema, []byte{2})
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{ExpireEvery: -1})
	defer s.Close()
	if ids, err := s.ChannelsOf(row.Descriptor.Payer); err != nil || len(ids) != 1 || ids[0] != row.ID {
		t.Errorf("%v, %v", ids, err)
	}
	if list, err := s.Debts(row.Descriptor.Payer); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
