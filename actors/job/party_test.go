package job

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/actors/runtime"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/testkit/size"
)

// office is a queue whose jobs do what the test says. Use it in a bubble of synctest.
type office struct {
	t     *testing.T
	j     *Jobs
	store *shelf

	mu      sync.Mutex
	parties map[string]slots.Holder // by job id
	ids     map[string]string       // by name
	orders  map[string]chan string  // by name
	log     []string                // names of the jobs that started or continued
	parks   bool                    // each job parks when it starts
}

func newOffice(t *testing.T, store *shelf, running, strangers int) *office {
	o := &office{t: t, store: store, parties: map[string]slots.Holder{}, ids: map[string]string{}, orders: map[string]chan string{}}
	o.j = startJobs(t, Options{Store: store, Analyst: o, Running: running, Queue: 1000, Strangers: strangers, Party: o.party})
	return o
}

func (o *office) party(id string) slots.Holder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.parties[id]
}

// orderFor returns the channel for orders to a job.
func (o *office) orderFor(name string) chan string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.orders[name] == nil {
		o.orders[name] = make(chan string, 10)
	}
	return o.orders[name]
}

func (o *office) note(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, name)
}

// Explain runs a job, whose context is its name.
func (o *office) Explain(ctx context.Context, w Work) (*api.Result, error) {
	name := w.Request.Context
	o.note(name)
	if o.parks {
		w.Slot.Park()
	}
	for orders := o.orderFor(name); ; {
		select {
		case order := <-orders:
			switch order {
			case "park":
				w.Slot.Park()
			case "resume":
				if err := w.Slot.Resume(ctx); err != nil {
					return nil, err
				}
				o.note(name + " again")
			case "resume aside":
				go func() {
					w.Slot.Resume(context.Background())
					o.note(name + " told")
				}()
			case "end":
				return fine(ctx, w.Request)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *office) submit(name string, who slots.Holder) {
	o.t.Helper()
	id := recordid.New()
	o.mu.Lock()
	o.parties[id], o.ids[name] = who, id
	o.mu.Unlock()
	req := ask
	req.Context = name
	if err := o.j.SubmitAs(id, req); err != nil {
		o.t.Fatal(err)
	}
	synctest.Wait()
}

func (o *office) order(name, order string) {
	o.orderFor(name) <- order
	synctest.Wait()
}

// want checks which jobs have started or continued since the last call.
func (o *office) want(names ...string) {
	o.t.Helper()
	synctest.Wait()
	if got := o.take(); strings.Join(got, ", ") != strings.Join(names, ", ") {
		o.t.Fatalf("started %q, want %q", got, names)
	}
}

func (o *office) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	got := o.log
	o.log = nil
	return got
}

// places checks the counts of the queue.
func (o *office) places(used, strangers int) {
	o.t.Helper()
	synctest.Wait()
	if all, of := o.j.generation.queue.places.Used(); all != used || of != strangers {
		o.t.Fatalf("%d places are taken, %d by strangers; want %d and %d", all, of, used, strangers)
	}
}

// empty checks that nothing is left of the jobs.
func (o *office) empty() {
	o.t.Helper()
	o.places(0, 0)
	queued, running := o.j.Load()
	if q := o.j.generation.queue; queued+running+len(q.parties.all)+len(q.parties.turns)+len(q.running) != 0 {
		o.t.Errorf("left: %d queued, %d running, %+v", queued, running, q)
	}
}

// stranger returns a payer in a network of its own.
func stranger(n byte) slots.Holder {
	return slots.Holder{Payer: common.Address{1, n}, Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, n, 0}), 24)}
}

func known(n byte) slots.Holder { return slots.Holder{Payer: common.Address{2, n}, Known: true} }

func inBubble(t *testing.T, running, strangers int, f func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newOffice(t, newShelf(), running, strangers)) })
}

// TestParkedStrangers: jobs of strangers that wait to be paid, and those behind them, delay no
// other payer.
func TestParkedStrangers(t *testing.T) {
	inBubble(t, 16, 8, func(o *office) {
		o.parks = true
		for n := range 96 {
			o.submit(fmt.Sprint(n), stranger(byte(n%3)))
		}
		if got := o.take(); len(got) != 3*maxUnpaid {
			t.Errorf("%d jobs of three strangers started: %q", len(got), got)
		}
		o.places(0, 0)
		o.submit("known", known(1))
		o.submit("new", stranger(9))
		o.want("known", "new")
	})
}

// TestParkedOfOnePayer: a payer that must pay has so many started jobs; another one starts when
// one of them ends, or when none waits to be paid.
func TestParkedOfOnePayer(t *testing.T) {
	inBubble(t, 16, 8, func(o *office) {
		o.parks = true
		for n := range 7 {
			o.submit(fmt.Sprint(n), known(1))
		}
		o.want("0", "1", "2", "3")
		o.order("2", "resume")
		o.want("2 again")
		o.order("0", "end")
		o.want("4")
		o.order("2", "end")
		o.want("5")
		o.order("1", "resume")
		o.order("3", "resume")
		o.order("4", "resume")
		o.want("1 again", "3 again", "4 again")
		o.places(3, 0)
		o.order("5", "resume")
		if got := o.take(); len(got) != 2 || !slices.Contains(got, "6") {
			t.Errorf("with none to be paid: %q", got)
		}
		for _, name := range []string{"1", "3", "4", "5", "6"} {
			o.order(name, "end")
		}
		o.empty()
	})
	inBubble(t, 2, 1, func(o *office) { // unknown payers do not wait for each other
		o.parks = true
		for n := range maxUnpaid + 2 {
			o.submit(fmt.Sprint(n), slots.Holder{})
		}
		o.want("0", "1", "2", "3", "4", "5")
	})
}

// TestRoundRobin: payers take turns, each with its jobs in their order.
func TestRoundRobin(t *testing.T) {
	inBubble(t, 1, 1, func(o *office) {
		names := []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"}
		for _, name := range names {
			o.submit(name, known(name[0]))
		}
		order := []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4"} // b and c came after the turn of a
		for _, name := range order {
			o.want(name)
			o.places(1, 0)
			o.order(name, "end")
		}
		o.empty()
	})
}

// TestLowestLoad: a payer without a running job is before one with many.
func TestLowestLoad(t *testing.T) {
	inBubble(t, 3, 1, func(o *office) {
		for _, name := range []string{"a1", "a2", "b1", "a3", "b2", "c1"} {
			o.submit(name, known(name[0]))
		}
		o.want("a1", "a2", "b1")
		o.order("a1", "end")
		o.want("c1")
		o.order("b1", "end")
		o.want("b2") // the load is 0, of a it is 1
		o.order("c1", "end")
		o.want("a3")
	})
}

// TestStrangersShare: strangers hold at most their share, one of them or one network a part of
// it, and leave some for one that has none.
func TestStrangersShare(t *testing.T) {
	inBubble(t, 16, 0, func(o *office) {
		for n := range 12 {
			o.submit(fmt.Sprint("greedy ", n), stranger(byte(n%3)))
		}
		o.want("greedy 0", "greedy 1", "greedy 2", "greedy 3")
		sibling := stranger(50)
		sibling.Network = stranger(0).Network
		o.submit("sibling", sibling)
		for n := range 5 {
			o.submit(fmt.Sprint("new ", n), stranger(byte(10+n)))
		}
		o.want("new 0", "new 1", "new 2", "new 3")
		o.places(8, 8)
		for n := range 8 {
			o.submit(fmt.Sprint("known ", n), known(byte(n)))
		}
		if got := o.take(); len(got) != 8 {
			t.Errorf("known payers started %q", got)
		}
		o.places(16, 8)
		o.submit("known", known(100))
		o.order("new 0", "end") // its place is for known ones, too
		o.want("new 4")         // whose turn was first
		o.order("known 0", "end")
		o.want("known")
	})
}

// TestResumes: a parked job that may continue waits for those of payers with a lower load, and
// goes before new ones.
func TestResumes(t *testing.T) {
	inBubble(t, 2, 1, func(o *office) {
		o.submit("a1", known('a'))
		o.submit("a2", known('a'))
		o.want("a1", "a2")
		o.order("a1", "park")
		o.order("a1", "park")
		o.places(1, 0)
		o.submit("b1", known('b'))
		o.want("b1")
		o.order("a1", "resume")
		o.submit("c1", known('c'))
		o.order("b1", "end")
		o.want("c1") // the load of a is 1
		o.order("a2", "end")
		o.want("a1 again")
		o.submit("a3", known('a'))
		o.submit("d1", known('d'))
		o.order("c1", "park")
		o.want("d1")
		o.order("c1", "resume")
		o.order("a1", "end")
		o.want("c1 again")
		o.order("c1", "resume")
		o.want("c1 again") // at once: it runs
		o.order("d1", "park")
		o.want("a3")
		o.order("d1", "resume aside")
		o.want()
		o.order("d1", "end") // nobody waits for a place of it any more
		o.want("d1 told")
		o.places(2, 0)
		o.order("c1", "end")
		o.order("a3", "end")
		o.empty()
	})
}

// TestResumesFirst: among payers of one load, a parked job goes before a new one whose turn is
// earlier.
func TestResumesFirst(t *testing.T) {
	inBubble(t, 2, 1, func(o *office) {
		for _, name := range []string{"a1", "b1", "a2", "c1", "d1"} {
			o.submit(name, known(name[0]))
		}
		o.want("a1", "b1")
		o.order("b1", "end")
		o.want("c1")
		o.order("c1", "park")
		o.want("d1")
		o.order("c1", "resume")
		o.order("a1", "end")
		o.want("c1 again")
		o.order("d1", "end")
		o.want("a2")
	})
}

// TestPartiesTakenUp: jobs of an earlier process have their parties.
func TestPartiesTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newShelf()
		o := &office{t: t, store: store, parties: map[string]slots.Holder{}, orders: map[string]chan string{}}
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			id := recordid.New()
			req := ask
			req.Context = name
			store.PutJobs(Row{ID: id, Status: api.JobPending, Attempts: 1, Request: req})
			o.parties[id] = known(name[0])
		}
		o.j = startJobs(t, Options{Store: store, Analyst: o, Running: 1, Party: o.party})
		for _, name := range []string{"a1", "a2", "b1", "a3"} {
			o.want(name)
			o.order(name, "end")
		}
		o.empty()
	})
}

// TestDrain: a queue that drains lets parked jobs continue, starts none, and gives all others
// back.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, store: newShelf(), parties: map[string]slots.Holder{}, ids: map[string]string{}, orders: map[string]chan string{}}
		sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
		var err error
		if o.j, err = New(sys, Options{Store: o.store, Analyst: o, Running: 1, Party: o.party}); err != nil {
			t.Fatal(err)
		}
		o.submit("a1", known('a'))
		o.order("a1", "park")
		o.submit("b1", known('b'))
		o.submit("a2", known('a'))
		o.submit("c1", known('c'))
		o.order("a1", "resume")
		closed := make(chan error, 1)
		go func() { closed <- o.j.Close(context.Background()) }()
		o.want("a1", "b1")
		o.order("b1", "end")
		o.want("a1 again")
		o.order("a1", "end")
		if err := <-closed; err != nil {
			t.Error(err)
		}
		sys.Wait()
		o.want()
		for _, name := range []string{"a2", "c1"} {
			if row, _ := o.store.Job(o.ids[name]); row.Status != api.JobPending || row.Attempts != 1 {
				t.Errorf("%s: %+v", name, row)
			}
		}
	})
}

// TestRandomJobs: whatever the jobs do in which order, the places are counted rightly, and
// everyone has its turn.
func TestRandomJobs(t *testing.T) {
	for seed := range uint64(size.Of(10, 100)) {
		inBubble(t, 8, 4, func(o *office) {
			r := rand.New(rand.NewPCG(seed, 2))
			x := randomJobs{o: o, r: r, state: map[string]string{}, who: map[string]slots.Holder{}}
			for n := range 150 {
				x.step(n)
				x.check()
			}
			x.finish()
			o.empty()
		})
	}
}

// randomJobs gives random orders and knows the states of the jobs.
type randomJobs struct {
	o     *office
	r     *rand.Rand
	state map[string]string // waits, runs, parked, resumes; nothing after the end
	who   map[string]slots.Holder
}

func (x *randomJobs) step(n int) {
	names := x.in("runs", "parked")
	if len(names) == 0 || x.r.IntN(2) == 0 {
		name := fmt.Sprint(n)
		x.state[name], x.who[name] = "waits", known(byte(x.r.IntN(4)))
		if x.r.IntN(2) == 0 {
			x.who[name] = stranger(byte(x.r.IntN(6)))
		}
		x.o.submit(name, x.who[name])
		return
	}
	name := names[x.r.IntN(len(names))]
	switch {
	case x.r.IntN(3) == 0:
		x.end(name)
	case x.state[name] == "runs":
		x.state[name] = "parked"
		x.o.order(name, "park")
	default:
		x.state[name] = "resumes"
		x.o.order(name, "resume")
	}
}

func (x *randomJobs) end(name string) {
	delete(x.state, name)
	x.o.order(name, "end")
}

// in returns the jobs in some states, in order.
func (x *randomJobs) in(states ...string) (names []string) {
	for name, state := range x.state {
		if slices.Contains(states, state) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// check compares the queue with the states of the jobs.
func (x *randomJobs) check() {
	x.o.t.Helper()
	for _, line := range x.o.take() {
		name, again := strings.CutSuffix(line, " again")
		if want := map[bool]string{true: "resumes", false: "waits"}[again]; x.state[name] != want {
			x.o.t.Fatalf("%s: %s", line, x.state[name])
		}
		x.state[name] = "runs"
	}
	running, strangers, payers := x.in("runs"), 0, map[common.Address]bool{}
	for _, name := range running {
		if who := x.who[name]; !who.Known {
			strangers++
			payers[who.Payer] = true
		}
	}
	x.o.places(len(running), strangers)
	if len(running) > 8 || strangers > 4 || len(payers) < strangers-2 {
		x.o.t.Fatalf("%d run, %d of %d strangers", len(running), strangers, len(payers))
	}
	parked, started := map[common.Address]int{}, map[common.Address]int{}
	for _, name := range x.in("runs", "parked", "resumes") {
		started[x.who[name].Payer]++
		if x.state[name] != "runs" {
			parked[x.who[name].Payer]++
		}
	}
	places := x.o.j.generation.queue.places
	for _, name := range x.in("waits", "resumes") {
		if who := x.who[name]; places.Fits(who) && (x.state[name] == "resumes" || parked[who.Payer] == 0 || started[who.Payer] < maxUnpaid) {
			x.o.t.Fatalf("%s of %+v waits beside a place", name, who)
		}
	}
}

// finish ends the jobs that run until none is left.
func (x *randomJobs) finish() {
	for len(x.state) > 0 {
		names := x.in("runs", "parked")
		if len(names) == 0 {
			x.o.t.Fatalf("nothing runs: %v", x.state)
		}
		x.end(names[0])
		x.check()
	}
}
