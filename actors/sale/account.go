package sale

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// account is the debt of one payer: for running analyses, and for ended ones that are not
// paid. Amounts are base units. It is safe for concurrent use.
type account struct {
	exposure uint64

	mu      sync.Mutex
	runs    map[*RunBalance]struct{}
	debt    uint64
	changed chan struct{} // closed and replaced at each change
}

func newAccount(exposure uint64) *account {
	return &account{exposure: exposure, runs: make(map[*RunBalance]struct{}), changed: make(chan struct{})}
}

// owed returns the whole debt of the payer. a.mu must be held.
func (a *account) owed() uint64 {
	sum := a.debt
	for t := range a.runs {
		sum += t.due()
	}
	return sum
}

// wake wakes all waiting callers. a.mu must be held.
func (a *account) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// setDebt sets the debt for runs that have ended.
func (a *account) setDebt(debt uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.debt != debt {
		a.debt = debt
		a.wake()
	}
}

// accounts are the accounts of payers with running analyses. It is safe for concurrent use.
type accounts struct {
	exposure uint64

	mu  sync.Mutex
	all map[common.Address]*account
}

func newAccounts(exposure uint64) *accounts {
	return &accounts{exposure: exposure, all: make(map[common.Address]*account)}
}

// join adds a balance to the account of a payer. Each unknown payer gets an account of its
// own.
func (l *accounts) join(payer common.Address, id string, collected uint64) *RunBalance {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.all[payer]
	if a == nil {
		a = newAccount(l.exposure)
		if payer != (common.Address{}) {
			l.all[payer] = a
		}
	}
	t := &RunBalance{ID: id, payer: payer, account: a, collected: collected, givenUp: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[t] = struct{}{}
	return t
}

// leave removes a balance from its account, and an account without balances.
func (l *accounts) leave(t *RunBalance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	delete(t.account.runs, t)
	t.account.wake()
	if len(t.account.runs) == 0 && l.all[t.payer] == t.account {
		delete(l.all, t.payer)
	}
}

// find returns the account of a payer, nil if it has no running analysis.
func (l *accounts) find(payer common.Address) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[payer]
}
