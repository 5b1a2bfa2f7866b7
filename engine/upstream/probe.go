package upstream

import (
	"context"
	"maps"
	"slices"
	"time"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ProbeResult is the outcome of a search for the chain of a hash.
type ProbeResult struct {
	Chain    *chain.Chain
	Pending  bool     // the chain knows the transaction, but it is in no block
	Answered []string // slugs of chains that do not know the hash; sorted
	Silent   []string // slugs of chains that failed; sorted. Chains not asked, or still to answer when the hit came, are in neither
}

// Probe finds the chain of a hash: chains are asked in waves by popularity, the first match
// wins, and the remaining requests are canceled before Probe returns. Chains without an
// endpoint are skipped. If all answered and none knows the hash, the error is an
// *api.NotFoundError; if some failed and no other knows it, an *api.UnavailableError that
// names them. The search is one logical call; the transaction found is kept for
// Session.Transaction.
func (s *Session) Probe(ctx context.Context, chains []*chain.Chain, hash common.Hash) (*ProbeResult, error) {
	rec, err := get[*probeRecord](ctx, s, probeCall(chains, hash))
	if err != nil {
		return nil, err
	}
	switch {
	case rec.ChainID == 0 && len(rec.Silent) > 0:
		return nil, &api.UnavailableError{
			TxHash: hash.Hex(),
			Asked:  len(rec.Answered),
			Silent: rec.Silent,
			Kinds:  rec.kindsOfSilent(),
			Unpaid: len(rec.Unpaid) == len(rec.Silent),
		}
	case rec.ChainID == 0:
		return nil, &api.NotFoundError{TxHash: hash.Hex(), Asked: len(rec.Answered)}
	}
	s.storeProbed(rec, hash)
	return &ProbeResult{Chain: rec.chain, Pending: rec.tx.Pending(), Answered: rec.Answered, Silent: rec.Silent}, nil
}

// storeProbed keeps the transaction of a probe for Session.Transaction. It is not metered
// again. It is recorded under its own key as well, for a replay that starts with a known
// chain.
func (s *Session) storeProbed(rec *probeRecord, hash common.Hash) {
	c := AskTransaction(hash).call(rec.chain)
	if s.keep(c, rec.tx, nil) {
		s.rec.put(c.key, entry{tool: c.tool, raw: packBytes(rec.Transaction)})
	}
}

// probeRecord is the outcome of a probe as it is stored. ChainID 0: not found.
type probeRecord struct {
	ChainID     uint64         `json:"chainId"`
	Answered    []string       `json:"answered"`
	Silent      []string       `json:"silent"`
	Kinds       []Kind         `json:"kinds,omitzero"`  // of Silent: why each failed; older bundles have none
	Unpaid      []string       `json:"unpaid,omitzero"` // of Silent, those that KindPayment failed
	Transaction jsontext.Value `json:"transaction,omitzero"`

	chain *chain.Chain
	tx    *ethrpc.Transaction
}

// kindsOfSilent returns the kinds of failure of the chains in Silent, as text.
func (r *probeRecord) kindsOfSilent() (kinds []string) {
	for _, k := range r.Kinds {
		kinds = append(kinds, string(k))
	}
	return kinds
}

func probeCall(chains []*chain.Chain, hash common.Hash) call {
	decode := decodeProbe(chains, hash)
	return call{
		tool: ToolProbe, key: joinKey(ToolProbe, 0, hash.Hex()), decode: decode,
		most: func(c *Client) int { return len(c.reached(chains)) },
		live: func(ctx context.Context, c *Client, keep bool) (out reply, units int, err *Error) {
			reached := c.reached(chains)
			if len(reached) == 0 {
				return out, 0, newError(KindNoEndpoint, "no endpoint is known for any chain")
			}
			rec, asked, err := c.probe(ctx, reached, hash)
			if err != nil {
				return out, asked, err
			}
			out, fault := storeRecord(rec, decode, keep)
			if fault != nil {
				return out, asked, newError(KindGarbage, api.Clean(fault.Error(), 200))
			}
			return out, asked, nil
		},
		bad: func(v any) bool { r := v.(*probeRecord); return r.ChainID == 0 && len(r.Answered) == 0 },
	}
}

// reached returns the chains for which an endpoint is known.
func (c *Client) reached(chains []*chain.Chain) (out []*chain.Chain) {
	for _, ch := range chains {
		if c.Reaches(ch) {
			out = append(out, ch)
		}
	}
	return out
}

func decodeProbe(chains []*chain.Chain, hash common.Hash) decodeFunc {
	return func(dec *jsontext.Decoder) (any, error) {
		r := &probeRecord{}
		if err := json.UnmarshalDecode(dec, r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return nil, err
		}
		if r.ChainID == 0 {
			return r, nil
		}
		i := slices.IndexFunc(chains, func(ch *chain.Chain) bool { return ch.ID == r.ChainID })
		if i < 0 {
			return nil, protocolError("the chain is not among those asked")
		}
		r.chain = chains[i]
		v, err := decodeBytes(r.Transaction, AskTransaction(hash).decode(r.chain))
		if err != nil {
			return nil, err
		}
		r.tx = v.(*ethrpc.Transaction)
		return r, nil
	}
}

// probeAnswer is the answer of one chain to a probe.
type probeAnswer struct {
	chain *chain.Chain
	tx    *ethrpc.Transaction // nil: not found, or err
	raw   jsontext.Value
	err   *Error
}

// settled reports whether no other answer can be better. A pending transaction may be mined
// on another chain, and one without chain id (before EIP-155) may have been replayed on a
// fork.
func (s *probeAnswer) settled() bool {
	return s.tx != nil && !s.tx.Pending() && s.tx.ChainID != nil && s.tx.ChainID.Sign() != 0
}

// better prefers mined over pending transactions, then the more popular chain.
func (s *probeAnswer) better(t *probeAnswer) bool {
	if t == nil || s.tx.Pending() != t.tx.Pending() {
		return t == nil || t.tx.Pending()
	}
	return s.chain.Popularity < t.chain.Popularity
}

// probeState is the state of one probe.
type probeState struct {
	waiting  [][]*chain.Chain // waves not started
	out      int              // chains asked that have not answered
	asked    int
	best     *probeAnswer
	answered []string
	silent   map[string]Kind // by slug
}

func (r *probeState) add(s probeAnswer) {
	r.out--
	switch {
	case s.err != nil && s.err.Kind == KindNotFound:
		r.answered = append(r.answered, s.chain.Slug)
	case s.err != nil:
		r.silent[s.chain.Slug] = s.err.Kind
	case s.better(r.best):
		r.best = &s
	}
}

func (r *probeState) record() *probeRecord {
	slices.Sort(r.answered)
	rec := &probeRecord{Answered: append([]string{}, r.answered...), Silent: append([]string{}, slices.Sorted(maps.Keys(r.silent))...)}
	for _, slug := range rec.Silent {
		kind := r.silent[slug]
		rec.Kinds = append(rec.Kinds, kind)
		if kind == KindPayment {
			rec.Unpaid = append(rec.Unpaid, slug)
		}
	}
	if r.best != nil {
		rec.ChainID, rec.Transaction = r.best.chain.ID, r.best.raw
	}
	return rec
}

// waves splits chains, most popular first, into waves.
func (c *Client) waves(chains []*chain.Chain) (out [][]*chain.Chain) {
	chains = slices.Clone(chains)
	slices.SortStableFunc(chains, func(a, b *chain.Chain) int { return a.Popularity - b.Popularity })
	for _, n := range c.cfg.ProbeWaves {
		if n = min(max(n, 1), len(chains)); n > 0 {
			out, chains = append(out, chains[:n]), chains[n:]
		}
	}
	if len(chains) > 0 {
		out = append(out, chains)
	}
	return out
}

// probe runs the search. It returns after every goroutine it started has ended.
func (c *Client) probe(ctx context.Context, chains []*chain.Chain, hash common.Hash) (*probeRecord, int, *Error) {
	racing, cancel := context.WithCancel(ctx)
	r := &probeState{waiting: c.waves(chains), silent: make(map[string]Kind)}
	heard := make(chan probeAnswer)
	started := 0
	defer func() {
		cancel()
		for ; started > 0; started-- {
			<-heard
		}
	}()
	start := func() {
		wave := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.out, r.asked, started = r.out+len(wave), r.asked+len(wave), started+len(wave)
		for _, ch := range wave {
			go func() { heard <- c.probeChain(racing, ch, hash) }()
		}
	}
	start()
	next := time.NewTimer(c.cfg.ProbeDelay)
	defer next.Stop()
	var grace <-chan time.Time // runs since the first doubtful hit
	for {
		select {
		case s := <-heard:
			started--
			r.add(s)
		case <-next.C:
			if len(r.waiting) > 0 && r.best == nil {
				start()
				next.Reset(c.cfg.ProbeDelay)
			}
		case <-grace:
			return r.record(), r.asked, nil
		case <-ctx.Done():
			return nil, r.asked, stopped(ctx)
		}
		switch {
		case r.best != nil && (r.best.settled() || r.out == 0):
			return r.record(), r.asked, nil
		case r.best != nil && grace == nil:
			grace = time.After(c.cfg.ProbeGrace)
		case r.best == nil && r.out == 0 && len(r.waiting) > 0: // all said no: no need to wait
			start()
			next.Reset(c.cfg.ProbeDelay)
		case r.best == nil && r.out == 0:
			return r.record(), r.asked, nil
		}
	}
}

// probeChain asks one chain, at two endpoints at most: a node may have dropped or not yet
// indexed an old transaction, and a failed endpoint should not hide it. Only the last one is
// asked again after a passing fault.
func (c *Client) probeChain(ctx context.Context, ch *chain.Chain, hash common.Hash) (s probeAnswer) {
	s.chain = ch
	defer func() {
		if p := recover(); p != nil {
			s.tx, s.err = nil, newError(KindInternal, "decoder panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ProbeTimeout)
	defer cancel()
	ask := AskTransaction(hash)
	r := c.plain(ask, func(dec *jsontext.Decoder) (any, error) {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		s.raw = v.Clone()
		return decodeBytes(s.raw, ask.decode(ch))
	})
	// Half of the time each, so that a black hole leaves time for the second.
	list := c.endpoints(ch)
	if list = list[:min(2, len(list))]; len(list) > 1 {
		r.timeout = c.cfg.ProbeTimeout / 2
	}
	for i, e := range list {
		var out reply
		ask := func() (err *Error) {
			out, err = c.post(ctx, e, r, false)
			return err
		}
		var err *Error
		if i < len(list)-1 || s.err != nil && s.err.Kind == KindNotFound {
			err = ask()
		} else {
			err = c.retry(ctx, false, ask)
		}
		if err == nil {
			s.tx, s.err = out.value.(*ethrpc.Transaction), nil
			return s
		}
		switch {
		case s.err == nil, err.Kind == KindNotFound: // one no is an answer
			s.err = err
		case s.err.Kind != KindNotFound:
			s.err = worst(s.err, err)
		}
	}
	return s
}
