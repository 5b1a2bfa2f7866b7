package storagetest

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/engine/mpp/session"
)

// model is what a ledger should contain.
type model struct {
	channels map[common.Hash]session.Channel
	bills    map[string]channel.Bill
	tickets  map[channel.TicketKey]channel.Ticket
	intents  map[string]channel.Intent
}

// testModel runs random entries on the store and on maps, and compares all of both.
func testModel(f *fixture) {
	m := model{
		map[common.Hash]session.Channel{}, map[string]channel.Bill{}, map[channel.TicketKey]channel.Ticket{}, map[string]channel.Intent{},
	}
	var bills, intents []string
	for range 40 {
		bills, intents = append(bills, f.id()), append(intents, f.id())
	}
	for step := range 60 {
		entries := make([]channel.Entry, 1+f.rnd.IntN(6))
		for i := range entries {
			entries[i] = f.randomEntry(bills, intents)
		}
		if f.rnd.IntN(8) == 0 {
			if f.Commit(append(entries, channel.Entry{Drop: "no id"})...) == nil {
				f.Fatal("an entry without an id is written")
			}
		} else {
			f.no(f.Commit(entries...))
			for _, e := range entries {
				m.apply(e)
			}
		}
		if step%10 == 9 {
			f.reopen()
		}
		m.compare(f, bills)
	}
}

func (f *fixture) randomEntry(bills, intents []string) (e channel.Entry) {
	pick := func(list []string) string { return list[f.rnd.IntN(len(list))] }
	key := func() *channel.TicketKey { return &channel.TicketKey{byte(f.rnd.IntN(30))} }
	if f.rnd.IntN(2) == 0 {
		row := newChannel(common.Hash{byte(f.rnd.IntN(20))}, common.Address{byte(f.rnd.IntN(3))})
		row.Descriptor.Payer = common.Address{row.ID[0] % 3} // the payer of a channel does not change
		row.Spent = units(30 + f.rnd.Uint64N(870))           // not below Credit, nor above Highest
		row.Status = []session.Status{session.Opening, session.Active, session.Closing, session.Closed}[f.rnd.IntN(4)]
		e.Channel = &row
	} else if f.rnd.IntN(3) == 0 {
		e.Forget = &common.Hash{byte(f.rnd.IntN(20))}
	}
	if f.rnd.IntN(2) == 0 {
		id := pick(bills)
		price := f.rnd.Uint64N(3)
		e.Bill = &channel.Bill{
			ID: id, Payer: common.Address{1 + id[len(id)-1]%2}, Price: units(price),
			Collected: units(f.rnd.Uint64N(price + 1)), Final: id[len(id)-2]%2 == 0, // which does not change
		}
	}
	switch f.rnd.IntN(4) {
	case 0:
		e.Ticket = &channel.Ticket{Key: *key(), Bill: pick(bills), Charged: units(f.rnd.Uint64())}
	case 1:
		e.Request = &channel.Ticket{Key: *key(), Bill: pick(bills)}
	case 2:
		e.Void = key()
	}
	switch f.rnd.IntN(4) {
	case 0:
		e.Intent = &channel.Intent{ID: pick(intents), Kind: channel.IntentSettle, Raw: f.noise(20)}
	case 1:
		e.Drop = pick(intents)
	}
	return e
}

// apply does what a store does with an entry.
func (m model) apply(e channel.Entry) {
	if e.Channel != nil {
		m.channels[e.Channel.ID] = *e.Channel
	}
	if e.Forget != nil && m.channels[*e.Forget].Status != session.Closed {
		delete(m.channels, *e.Forget)
	}
	if e.Bill != nil {
		m.bills[e.Bill.ID] = *e.Bill
	}
	for _, t := range []*channel.Ticket{e.Ticket, e.Request} {
		if t != nil {
			m.tickets[t.Key] = *t
		}
	}
	if e.Void != nil {
		delete(m.tickets, *e.Void)
	}
	if e.Intent != nil {
		m.intents[e.Intent.ID] = *e.Intent
	}
	delete(m.intents, e.Drop)
}

func (m model) compare(f *fixture, bills []string) {
	f.Helper()
	for i := range 20 {
		id := common.Hash{byte(i)}
		want, ok := m.channels[id]
		if got, err := f.Channel(id); ok != (err == nil) || ok && got != want || !ok && !errors.Is(err, channel.ErrNoChannel) {
			f.Fatalf("channel %x: %+v, %v; want %+v, %v", id, got, err, want, ok)
		}
	}
	for i := range 30 {
		key := channel.TicketKey{byte(i)}
		want, ok := m.tickets[key]
		if got, err := f.Ticket(key); ok != (err == nil) || ok && got != want {
			f.Fatalf("ticket %d: %+v, %v; want %+v, %v", i, got, err, want, ok)
		}
	}
	for _, id := range bills {
		want, ok := m.bills[id]
		if got, err := f.Bill(id); ok != (err == nil) || ok && got != want {
			f.Fatalf("bill %s: %+v, %v; want %+v, %v", id, got, err, want, ok)
		}
	}
	for i := range 3 {
		m.compareOpen(f, common.Address{byte(i)})
		m.compareDebts(f, common.Address{byte(i + 1)})
	}
	m.compareIntents(f)
}

func (m model) compareOpen(f *fixture, payer common.Address) {
	f.Helper()
	var want []common.Hash
	for id, row := range m.channels {
		if row.Status != session.Closed && row.Descriptor.Payer == payer {
			want = append(want, id)
		}
	}
	slices.SortFunc(want, common.Hash.Cmp)
	if got, err := f.ChannelsOf(payer); err != nil || !slices.Equal(got, want) {
		f.Fatalf("channels of %x: %x, %v; want %x", payer, got, err, want)
	}
}

func (m model) compareDebts(f *fixture, payer common.Address) {
	f.Helper()
	var want []channel.Bill
	for _, id := range slices.Sorted(maps.Keys(m.bills)) {
		if b := m.bills[id]; b.Payer == payer && b.Debt() {
			want = append(want, b)
		}
	}
	if got, err := f.Debts(payer); err != nil || !slices.Equal(got, want) {
		f.Fatalf("debts of %x: %+v, %v; want %+v", payer, got, err, want)
	}
}

func (m model) compareIntents(f *fixture) {
	f.Helper()
	list, err := f.Intents()
	f.no(err)
	if len(list) != len(m.intents) || !slices.IsSortedFunc(list, func(a, b channel.Intent) int { return strings.Compare(a.ID, b.ID) }) {
		f.Fatalf("%d intents, want %d", len(list), len(m.intents))
	}
	for _, got := range list {
		if want := m.intents[got.ID]; got.ID != want.ID || !slices.Equal(got.Raw, want.Raw) || got.Kind != want.Kind {
			f.Fatalf("intent %+v, want %+v", got, want)
		}
	}
}
