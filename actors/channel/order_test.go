package channel

import "testing"

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
