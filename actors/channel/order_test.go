package channel

import (
	"errors"
	"testing"
)

func TestRequestKey(t *testing.T) {
	f := func(o Order, want TicketKey) {
		t.Helper()
		if got := o.RequestKey(); got != want {
			t.Errorf("%+v: %x, want %x", o, got, want)
		}
	}
	f(Order{Key: TicketKey{1}}, TicketKey{1})
	f(Order{Key: TicketKey{1}, Request: TicketKey{2}}, TicketKey{2})
}

// unreadableBills is a store whose bills cannot be read.
type unreadableBills struct{ *bookkeeper }

func (unreadableBills) Bill(string) (Bill, error) { return Bill{}, errUnreadable }

var errUnreadable = errors.New("the disk is gone")

// TestAdmitJoins: a request joins the run that it began, unless that ended for nothing or cannot
// be read.
func TestAdmitJoins(t *testing.T) {
	f := func(bill Bill, wantFresh bool) {
		t.Helper()
		row := funded(100)
		book := newBookkeeper(row)
		bill.ID = "first"
		book.bills["first"], book.tickets[TicketKey{1}] = bill, Ticket{Key: TicketKey{1}, Bill: "first", Charged: units(10)}
		c := openChannels(t, StoreOf(book))
		a, err := admitOn(t.Context(), c, row.ID, TicketKey{1}, "second", 10)
		if err != nil || a.Fresh != wantFresh || (a.Bill == "second") != wantFresh {
			t.Errorf("%+v: %+v, %v; want fresh %v", bill, a, err, wantFresh)
		}
	}
	f(Bill{}, false)
	f(Bill{Price: units(10)}, false)
	f(Bill{Price: units(10), Final: true}, false)
	f(Bill{Final: true}, true)

	row := funded(100)
	book := newBookkeeper(row)
	book.tickets[TicketKey{1}] = Ticket{Key: TicketKey{1}, Bill: "first"}
	c := openChannels(t, StoreOf(unreadableBills{book}))
	if a, err := admitOn(t.Context(), c, row.ID, TicketKey{1}, "second", 10); !errors.Is(err, errUnreadable) {
		t.Errorf("%+v, %v", a, err)
	}
	if disk, _ := book.Channel(row.ID); !disk.Spent.IsZero() {
		t.Errorf("spent %s although the bill cannot be read", disk.Spent)
	}
}
