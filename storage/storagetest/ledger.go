package storagetest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

func units(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

// signature is well-formed, and another one for each n.
func signature(n byte) tempo.Signature {
	raw := make([]byte, 65)
	raw[0], raw[31], raw[63], raw[64] = 1, n, 1, 27
	s, err := tempo.ParseSignature(raw)
	if err != nil {
		panic(err)
	}
	return s
}

// newChannel has a value in every field that is stored.
func newChannel(id common.Hash, payer common.Address) session.Channel {
	return session.Channel{
		ID: id, ChainID: 42431, Escrow: common.Address{0x4d}, Status: session.Active,
		Descriptor: tempo.Descriptor{
			Payer: payer, Payee: common.Address{2}, Operator: common.Address{3}, Token: common.Address{4},
			Salt: common.Hash{5}, AuthorizedSigner: common.Address{6}, ExpiringNonceHash: common.Hash{7},
		},
		Deposit: units(1000), Settled: units(200), CloseRequestedAt: 8, SeenAt: 9,
		Highest:    session.Voucher{Cumulative: units(900), Signature: signature(1)},
		Settleable: session.Voucher{Cumulative: units(300), Signature: signature(2)},
		Settling:   units(250), Authorised: units(260), Spent: units(400), Credit: units(30), Units: 10,
		OpenTx: common.Hash{11}, CloseTx: common.Hash{12},
		Close: session.Voucher{Cumulative: units(500), Signature: signature(3)}, Capture: units(410), Lost: units(20),
		CreatedAt: 13, ActiveAt: 14, OwedSince: 15,
	}
}

func testChannels(f *fixture) {
	payer := common.Address{1}
	row := newChannel(common.Hash{1}, payer)
	large := newChannel(common.Hash{2}, payer)
	large.Deposit, large.Highest = tempo.MaxAmount, session.Voucher{Cumulative: tempo.MaxAmount, Signature: signature(9)}
	bare := session.Channel{ID: common.Hash{3}, Status: session.Opening}
	gone := newChannel(common.Hash{4}, payer)
	volatile := row
	volatile.Reserved, volatile.Missing = units(5), true // these are not stored
	f.no(f.Commit(channel.Entry{Channel: &volatile}, channel.Entry{Channel: &large}))
	f.no(f.Commit(channel.Entry{Channel: &bare}, channel.Entry{Channel: &gone}))
	f.no(f.Commit(channel.Entry{Forget: &gone.ID}))
	f.no(f.Commit(channel.Entry{Forget: &gone.ID})) // which is no error
	f.twice(func() {
		f.Helper()
		for _, want := range []session.Channel{row, large, bare} {
			if got, err := f.Channel(want.ID); err != nil || got != want {
				f.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		for _, id := range []common.Hash{gone.ID, {}, {9}} {
			if _, err := f.Channel(id); !errors.Is(err, channel.ErrNoChannel) {
				f.Errorf("%x: %v", id, err)
			}
		}
		if ids, err := f.ChannelsOf(payer); err != nil || !slices.Equal(ids, []common.Hash{row.ID, large.ID}) {
			f.Errorf("%x, %v", ids, err)
		}
	})
	row.Status = session.Closed
	f.no(f.Commit(channel.Entry{Channel: &row}))
	f.twice(func() {
		f.Helper()
		if got, err := f.Channel(row.ID); err != nil || got != row {
			f.Errorf("closed: %+v, %v", got, err)
		}
		if ids, err := f.ChannelsOf(payer); err != nil || !slices.Equal(ids, []common.Hash{large.ID}) {
			f.Errorf("%x, %v", ids, err)
		}
	})
	row.Status = session.Active // after a reorganisation of the chain
	f.no(f.Commit(channel.Entry{Channel: &row}))
	f.twice(func() {
		f.Helper()
		if got, err := f.Channel(row.ID); err != nil || got != row {
			f.Errorf("open again: %+v, %v", got, err)
		}
		if list, _, err := f.Channels(true, common.Hash{}, 9); err != nil || len(list) != 0 {
			f.Errorf("open again, and listed as closed: %+v, %v", list, err)
		}
		if list, _, err := f.Channels(false, common.Hash{}, 9); err != nil || len(list) != 3 {
			f.Errorf("%d open channels, %v", len(list), err)
		}
	})
}

// testBillWithRun: an entry writes a bill and the record of its run, both or none.
func testBillWithRun(f *fixture) {
	row := newChannel(common.Hash{1}, common.Address{1})
	bill := channel.Bill{ID: f.id(), Channel: row.ID, Payer: row.Descriptor.Payer, Price: units(7), Final: true}
	run := job.RunRow{ID: bill.ID, State: job.RunReplayable, FinishedAt: 7, Frames: f.noise(5000)}
	nameless := run
	nameless.ID = "no id"
	over := channel.Bill{ID: f.id(), Channel: row.ID, Final: true}
	large := job.RunRow{ID: over.ID, State: job.RunReplayable, FinishedAt: 7, Frames: f.noise(job.MaxRunBytes + 1)}
	f.no(f.Commit(channel.Entry{Channel: &row}))
	told := make(chan error, 1)
	f.CommitThen(func(err error) { told <- err }, channel.Entry{Bill: &bill, Run: &nameless})
	if f.Commit(channel.Entry{Bill: &bill, Run: &nameless}) == nil || <-told == nil {
		f.Error("a record whose id has no time is stored")
	}
	if _, err := f.Bill(bill.ID); !errors.Is(err, channel.ErrNoBill) {
		f.Errorf("a bill without the record that was written with it: %v", err)
	}
	f.CommitThen(func(err error) { told <- err }, channel.Entry{Bill: &bill, Run: &run})
	f.no(errors.Join(<-told, f.Commit(channel.Entry{Bill: &over, Run: &large})))
	f.twice(func() {
		f.Helper()
		if got, err := f.Bill(bill.ID); err != nil || got != bill {
			f.Errorf("%+v, %v", got, err)
		}
		if got, err := f.Runs.Run(run.ID); err != nil || !reflect.DeepEqual(got, run) {
			f.Errorf("%.200v, %v", got, err)
		}
		if got, err := f.Runs.Run(over.ID); err != nil || got.State != job.RunTooLarge {
			f.Errorf("%s, %v", got.State, err)
		}
	})
}

func testChannelPaging(f *fixture) {
	const n = 2300 // more than a page of any store
	payer := common.Address{1}
	var open, ended []common.Hash
	var entries []channel.Entry
	for i := range n {
		row := newChannel(common.Hash{byte(i * 7), byte(i >> 8), byte(i), 1}, payer)
		if i%3 == 0 {
			row.Status = session.Closed
			ended = append(ended, row.ID)
		} else {
			open = append(open, row.ID)
		}
		entries = append(entries, channel.Entry{Channel: &row})
	}
	for batch := range slices.Chunk(entries, 500) {
		f.no(f.Commit(batch...))
	}
	slices.SortFunc(open, common.Hash.Cmp)
	slices.SortFunc(ended, common.Hash.Cmp)
	list := func(isEnded bool, limit int) (ids []common.Hash) {
		f.Helper()
		for from := new(common.Hash); from != nil; {
			rows, next, err := f.Channels(isEnded, *from, limit)
			f.no(err)
			if len(rows) > limit || next != nil && len(rows) != limit {
				f.Fatalf("a page of %d rows, %d asked for", len(rows), limit)
			}
			for _, row := range rows {
				ids = append(ids, row.ID)
			}
			from = next
		}
		return ids
	}
	for _, limit := range []int{97, 1000, n} {
		if got := list(false, limit); !slices.Equal(got, open) {
			f.Errorf("pages of %d: %d open channels of %d", limit, len(got), len(open))
		}
		if got := list(true, limit); !slices.Equal(got, ended) {
			f.Errorf("pages of %d: %d closed channels of %d", limit, len(got), len(ended))
		}
	}
	if rows, next, err := f.Channels(true, ended[len(ended)-1], 1); err != nil || len(rows) != 1 || next != nil {
		f.Errorf("the last page: %d rows, %v, %v", len(rows), next, err)
	}
	var seen []common.Hash
	f.no(f.OpenChannels(func(row session.Channel) error {
		seen = append(seen, row.ID)
		_, err := f.Channel(row.ID) // the store can be used during a visit
		return err
	}))
	if !slices.Equal(seen, open) {
		f.Errorf("visited %d channels of %d", len(seen), len(open))
	}
	stop := errors.New("enough")
	if err := f.OpenChannels(func(session.Channel) error { return stop }); !errors.Is(err, stop) {
		f.Errorf("a visit that ends: %v", err)
	}
	if ids, err := f.ChannelsOf(payer); err != nil || !slices.Equal(ids, open[:channel.MaxChannelsOf]) {
		f.Errorf("%d ids, %v", len(ids), err)
	}
}

func testBills(f *fixture) {
	bill := channel.Bill{
		ID: f.id(), Payer: common.Address{1}, Channel: common.Hash{2}, Collected: units(3), Price: tempo.MaxAmount, Final: true,
	}
	bare := channel.Bill{ID: f.id()}
	row := session.Channel{ID: bill.Channel, Status: session.Active}
	f.no(f.Commit(channel.Entry{Bill: &bill}, channel.Entry{Bill: &bare}, channel.Entry{Channel: &row}))
	f.twice(func() {
		f.Helper()
		for _, want := range []channel.Bill{bill, bare} {
			if got, err := f.Bill(want.ID); err != nil || got != want {
				f.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		for _, id := range []string{f.id(), "", "x"} {
			if _, err := f.Bill(id); !errors.Is(err, channel.ErrNoBill) {
				f.Errorf("bill %q: %v", id, err)
			}
		}
	})
}

func testDebts(f *fixture) {
	payer, other := common.Address{1}, common.Address{2}
	var want []channel.Bill
	put := func(payer common.Address, price, collected uint64, final bool) channel.Bill {
		f.Helper()
		b := channel.Bill{ID: f.id(), Payer: payer, Price: units(price), Collected: units(collected)}
		f.no(f.Commit(channel.Entry{Bill: &b})) // what was collected before the price is known may be above it
		b.Final = final
		f.no(f.Commit(channel.Entry{Bill: &b}))
		return b
	}
	want = append(want, put(payer, 5, 4, true))
	put(payer, 5, 5, true)
	put(payer, 5, 6, true)
	put(payer, 5, 0, false)
	theirs := put(other, 5, 0, true)
	want = append(want, put(payer, 5, 0, true))
	is := func(payer common.Address, want ...channel.Bill) {
		f.Helper()
		if got, err := f.Debts(payer); err != nil || !slices.Equal(got, want) {
			f.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	f.twice(func() { f.Helper(); is(payer, want...); is(other, theirs); is(common.Address{3}) })
	want[0].Collected = units(5)
	f.no(f.Commit(channel.Entry{Bill: &want[0]}))
	is(payer, want[1])
	for range channel.MaxDebts + 3 {
		want = append(want, put(payer, 2, 1, true))
	}
	f.twice(func() { f.Helper(); is(payer, want[1:1+channel.MaxDebts]...) })
}

func testTickets(f *fixture) {
	one := channel.Ticket{Key: channel.TicketKey{1}, Bill: f.id(), Charged: units(3)}
	two := channel.Ticket{Key: channel.TicketKey{2}, Bill: one.Bill, Charged: tempo.MaxAmount}
	moved := channel.Ticket{Key: one.Key, Bill: f.id(), Charged: units(4)}
	is := func(key channel.TicketKey, want *channel.Ticket) {
		f.Helper()
		got, err := f.Ticket(key)
		if want == nil && !errors.Is(err, channel.ErrNoTicket) || want != nil && (err != nil || got != *want) {
			f.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	f.no(f.Commit(channel.Entry{Ticket: &one, Request: &two}))
	f.twice(func() { f.Helper(); is(one.Key, &one); is(two.Key, &two); is(channel.TicketKey{3}, nil) })
	f.no(f.Commit(channel.Entry{Ticket: &moved}))
	f.twice(func() { f.Helper(); is(one.Key, &moved) })
	f.no(f.Commit(channel.Entry{Void: &one.Key, VoidRequest: &two.Key}))
	f.no(f.Commit(channel.Entry{Void: &one.Key})) // which is no error
	f.twice(func() { f.Helper(); is(one.Key, nil); is(two.Key, nil) })
}

func testIntents(f *fixture) {
	one := channel.Intent{
		ID: f.id(), Kind: channel.IntentSettle, Channels: []common.Hash{{1}, {2}}, Amounts: []tempo.Amount{units(1), tempo.MaxAmount},
		Raw: []byte{0, 1, 255}, Hash: common.Hash{3}, ValidBefore: 1 << 40,
	}
	two := channel.Intent{
		ID: f.id(), Kind: channel.IntentClose, Channels: []common.Hash{{1}}, Amounts: []tempo.Amount{units(1)}, Raw: []byte{1},
	}
	is := func(want ...channel.Intent) {
		f.Helper()
		got, err := f.Intents()
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			f.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	is()
	f.no(f.Commit(channel.Entry{Intent: &two}))
	f.no(f.Commit(channel.Entry{Intent: &one}))
	f.twice(func() { f.Helper(); is(one, two) })
	one.Raw, two.Raw = []byte{7}, []byte{8}
	f.no(f.Commit(channel.Entry{Intent: &one, Drop: two.ID}))
	f.no(f.Commit(channel.Entry{Drop: two.ID})) // which is no error
	f.clock.add(10 * api.RunRetention)          // an intent does not expire
	_, err := f.Expire()
	f.no(err)
	f.twice(func() { f.Helper(); is(one) })
}

// testRetentionOfLedger: bills and tickets outlive the run that they are for; channels do not
// expire.
func testRetentionOfLedger(f *fixture) {
	row, ended := newChannel(common.Hash{1}, common.Address{1}), newChannel(common.Hash{2}, common.Address{1})
	ended.Status = session.Closed
	bill := channel.Bill{ID: f.id(), Payer: common.Address{1}, Price: units(5), Final: true}
	one := channel.Ticket{Key: channel.TicketKey{1}, Bill: bill.ID}
	moved := channel.Ticket{Key: channel.TicketKey{2}, Bill: bill.ID}
	f.no(f.Commit(channel.Entry{Channel: &row, Bill: &bill, Ticket: &one, Request: &moved}, channel.Entry{Channel: &ended}))
	f.clock.add(api.RunRetention)
	_, err := f.Expire()
	f.no(err)
	if _, err := f.Bill(bill.ID); err != nil {
		f.Errorf("as long as the run: %v", err)
	}
	if _, err := f.Ticket(one.Key); err != nil {
		f.Errorf("as long as the run: %v", err)
	}
	if list, err := f.Debts(bill.Payer); err != nil || len(list) != 1 {
		f.Errorf("%v, %v", list, err)
	}
	moved.Bill = f.id()
	f.no(f.Commit(channel.Entry{Ticket: &moved}))
	f.clock.add(7 * 24 * time.Hour)
	_, err = f.Expire()
	f.no(err)
	f.twice(func() {
		f.Helper()
		if _, err := f.Bill(bill.ID); !errors.Is(err, channel.ErrNoBill) {
			f.Errorf("a week after the run: %v", err)
		}
		if _, err := f.Ticket(one.Key); !errors.Is(err, channel.ErrNoTicket) {
			f.Errorf("a week after the run: %v", err)
		}
		if got, err := f.Ticket(moved.Key); err != nil || got != moved {
			f.Errorf("a ticket that became another bill's: %+v, %v", got, err)
		}
		if list, err := f.Debts(bill.Payer); err != nil || len(list) != 0 {
			f.Errorf("%v, %v", list, err)
		}
		for _, want := range []session.Channel{row, ended} {
			if got, err := f.Channel(want.ID); err != nil || got != want {
				f.Errorf("%+v, %v", got, err)
			}
		}
	})
}

func testEntriesAllOrNone(f *fixture) {
	row := newChannel(common.Hash{1}, common.Address{1})
	bill, ticket := channel.Bill{ID: f.id()}, channel.Ticket{Key: channel.TicketKey{1}, Bill: f.id()}
	good := []channel.Entry{{Channel: &row}, {Bill: &bill}, {Ticket: &ticket}}
	for _, bad := range []channel.Entry{
		{Bill: &channel.Bill{ID: "no id"}}, {Ticket: &channel.Ticket{Bill: "no id"}}, {Intent: &channel.Intent{ID: "no id"}}, {Drop: "no id"},
	} {
		if err := f.Commit(slices.Insert(slices.Clone(good), f.rnd.IntN(4), bad)...); err == nil {
			f.Errorf("written: %+v", bad)
		}
	}
	f.twice(func() {
		f.Helper()
		_, noChannel := f.Channel(row.ID)
		_, noBill := f.Bill(bill.ID)
		_, noTicket := f.Ticket(ticket.Key)
		if !errors.Is(noChannel, channel.ErrNoChannel) || !errors.Is(noBill, channel.ErrNoBill) || !errors.Is(noTicket, channel.ErrNoTicket) {
			f.Errorf("%v, %v, %v", noChannel, noBill, noTicket)
		}
	})
	f.no(f.Commit())
}
