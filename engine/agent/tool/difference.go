package tool

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/engine/replay"

	"github.com/ethereum/go-ethereum/common"
)

// SimulationView is how a changed run differs from the original. The lists hold only
// differences; amounts are signed net base units without the fee.
type SimulationView struct {
	Reproduced bool         `json:"reproduced"` // without changes, the run reproduces the receipt
	BaseState  string       `json:"ground"`     // the state that both ran on
	Real       RunView      `json:"real"`
	Simulated  *RunView     `json:"simulated,omitempty"` // absent if nothing was changed
	Same       bool         `json:"same,omitzero"`       // outcome, movements, logs and storage equal those of the original run
	Values     []ValueRow   `json:"values,omitempty"`
	LogsGone   []SimLog     `json:"logsGone,omitempty"` // of the real run alone
	LogsNew    []SimLog     `json:"logsNew,omitempty"`  // of the simulated run alone
	Storage    []StorageRow `json:"storage,omitempty"`  // after the run
	More       []string     `json:"more,omitempty"`     // what was cut from the lists
	Notes      []string     `json:"notes,omitempty"`
}

// RunView is the outcome of one run.
type RunView struct {
	Status  string `json:"status"` // success or reverted
	GasUsed uint64 `json:"gasUsed"`
	Frames  int    `json:"frames"`
	Logs    int    `json:"logs"`
	Failure string `json:"failure,omitempty"`
	Where   string `json:"where,omitempty"` // frame in which the failure began, of that run
}

// ValueRow is a net movement that differs.
type ValueRow struct {
	Address   Party    `json:"address"`
	Token     api.Addr `json:"token"` // the zero address is the native coin
	ID        string   `json:"id,omitempty"`
	Symbol    string   `json:"symbol,omitempty"`
	Real      string   `json:"real"`
	Simulated string   `json:"simulated"`
	Amounts   string   `json:"amounts,omitempty"` // both in whole tokens
}

// SimLog is a log that only one of the runs has.
type SimLog struct {
	Emitter Party     `json:"emitter"`
	Event   string    `json:"event,omitempty"`
	Args    []api.Arg `json:"args,omitempty"`
	Topic   api.Hex   `json:"topic,omitempty"`
}

// StorageRow is a slot that the runs left different.
type StorageRow struct {
	Account   Party   `json:"account"`
	Slot      api.Hex `json:"slot"`
	Real      api.Hex `json:"real"`
	Simulated api.Hex `json:"simulated"`
}

const (
	maxValueRows   = 40
	maxSimLogs     = 15
	maxStorageRows = 30
)

func runView(r *replay.Result) RunView {
	v := RunView{Status: string(api.StatusReverted), GasUsed: r.GasUsed, Frames: r.Tree.Total, Logs: len(r.Logs)}
	if r.Status == 1 {
		v.Status = string(api.StatusSuccess)
		return v
	}
	if f := r.Tree.RevertOrigin(); f != nil {
		v.Where, v.Failure = f.Path(), decode.Explain(f.Err)
		if f.RevertReason != "" {
			v.Failure = f.RevertReason
		}
	}
	return v
}

func (s *simulation) compare(v *SimulationView, real, sim *replay.Result, tx *ethrpc.Transaction) {
	run := runView(sim)
	v.Simulated = &run
	s.values(v, real, sim, tx)
	s.logs(v, real, sim)
	s.storage(v, real, sim)
	v.Same = v.Real.Status == run.Status && len(v.Values)+len(v.LogsGone)+len(v.LogsNew)+len(v.Storage) == 0
	for i, met := range sim.AppliedFrames {
		if !met {
			v.Notes = append(
				v.Notes,
				fmt.Sprintf(
					"change %d of without and frames, in their order, was not made: the changed run has no such call there, or not so much calldata",
					i+1,
				),
			)
		}
	}
	if len(sim.AppliedFrames) > 0 {
		v.Notes = append(v.Notes, "gas of a changed call is that of the original: compare outcomes, not gas")
	}
	v.Notes = append(v.Notes, sim.Notes...) // what is missing of the state stands in Ground
	if s.in.AtBlock != nil {
		v.Notes = append(v.Notes, "the block's number, time and base fee are those of the real block; state of the earlier one")
	}
}

// moved identifies the net amount of one token at one address.
type moved struct {
	who common.Address
	key flow.TokenKey
}

// netOf sums the movements of a run as package flow does, without the fee, which follows
// from the gas.
func (s *simulation) netOf(r *replay.Result, tx *ethrpc.Transaction) map[moved]*big.Int {
	ev := s.d.Case.Evidence
	status := r.Status
	rc := &ethrpc.Receipt{Status: &status, GasUsed: r.GasUsed, EffectiveGasPrice: ev.Receipt.EffectiveGasPrice, Logs: r.Logs}
	r.Tree.JoinLogs(rc)
	f := flow.Compute(flow.Input{
		Chain: ev.Chain, Tx: tx, Receipt: rc, Block: ev.Block, Tree: r.Tree, Succeeded: status == 1,
		Token:     func(a common.Address) bool { return ev.Tokens[a].Listed },
		Divisible: func(a common.Address) bool { d := ev.Tokens[a].Decimals; return d != nil && *d > 0 },
	})
	net := map[moved]*big.Int{}
	add := func(who common.Address, key flow.TokenKey, n *big.Int, sign int64) {
		if who == (common.Address{}) && key.Token != (common.Address{}) {
			return // mint and burn
		}
		m := moved{who, key}
		if net[m] == nil {
			net[m] = new(big.Int)
		}
		net[m].Add(net[m], new(big.Int).Mul(n, big.NewInt(sign)))
	}
	for _, m := range f.Moves {
		if m.Kind == flow.MoveFee {
			continue
		}
		if m.Kind != flow.MoveMint {
			add(m.From, flow.TokenKey{}, m.Amount, -1)
		}
		if !m.NoTo {
			add(m.To, flow.TokenKey{}, m.Amount, 1)
		}
	}
	for _, t := range f.Transfers {
		key := t.Key()
		add(t.From, key, t.Amount, -1)
		add(t.To, key, t.Amount, 1)
	}
	return net
}

func (s *simulation) values(v *SimulationView, real, sim *replay.Result, tx *ethrpc.Transaction) {
	was, is := s.netOf(real, s.d.tx()), s.netOf(sim, tx)
	all := maps.Clone(was)
	maps.Copy(all, is)
	keys := slices.SortedFunc(maps.Keys(all), func(a, b moved) int {
		if d := a.who.Cmp(b.who); d != 0 {
			return d
		}
		if d := a.key.Token.Cmp(b.key.Token); d != 0 {
			return d
		}
		return strings.Compare(a.key.ID, b.key.ID)
	})
	more := 0
	for _, k := range keys {
		before, after := or0(was[k]), or0(is[k])
		if before.Cmp(after) == 0 {
			continue
		}
		if len(v.Values) == maxValueRows {
			more++
			continue
		}
		r := ValueRow{Address: s.d.party(k.who), Token: api.AddrOf(k.key.Token), ID: k.key.ID, Real: before.String(), Simulated: after.String()}
		var decimals *uint8
		if r.Symbol, decimals = s.d.symbol(k.key.Token); decimals != nil && !k.key.NFT {
			r.Amounts = flow.Amount(before, *decimals) + " really, " + flow.Amount(after, *decimals) + " simulated"
		}
		v.Values = append(v.Values, r)
	}
	v.cut(more, "movement")
}

func or0(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

func (v *SimulationView) cut(n int, what string) {
	if n > 0 {
		v.More = append(v.More, api.Count(n, "more "+what)+" that differ")
	}
}

// logs removes the logs that both runs have, counting duplicates.
func (s *simulation) logs(v *SimulationView, real, sim *replay.Result) {
	gone, more := s.surplus(real.Logs, sim.Logs)
	v.LogsGone = gone
	v.cut(more, "log of the real run")
	added, more := s.surplus(sim.Logs, real.Logs)
	v.LogsNew = added
	v.cut(more, "log of the simulated run")
}

func (s *simulation) surplus(of, over []ethrpc.Log) (rows []SimLog, more int) {
	count := map[string]int{}
	for i := range over {
		count[logKey(&over[i])]++
	}
	ev := s.d.Case.Evidence
	dec := decode.New(ev.Chain, decode.Sources{Contracts: ev.Contracts, Functions: ev.Functions, Events: ev.Events})
	for i := range of {
		l := &of[i]
		if k := logKey(l); count[k] > 0 {
			count[k]--
			continue
		}
		if len(rows) == maxSimLogs {
			more++
			continue
		}
		r := SimLog{Emitter: s.d.party(l.Address)}
		if e := dec.Event(nil, l.Address, l.Topics, l.Data); e != nil {
			left := argBytes / 8
			r.Event, r.Args = e.Name, cutArgs(e.Args, &left)
		} else if len(l.Topics) > 0 {
			r.Topic = l.Topics[0][:]
		}
		rows = append(rows, r)
	}
	return rows, more
}

// storage compares the final storage where either run changed something. A slot that one
// run did not change has its initial value, which the diff of the other run contains.
func (s *simulation) storage(v *SimulationView, real, sim *replay.Result) {
	more := 0
	for _, a := range changedAccounts(real.StateDiff, sim.StateDiff) {
		for _, slot := range changedSlots(a, real.StateDiff, sim.StateDiff) {
			was, is := leftIn(real.StateDiff, sim.StateDiff, a, slot), leftIn(sim.StateDiff, real.StateDiff, a, slot)
			if _, _, changed := changedSlot(sim.StateDiff, a, slot); !changed {
				if s.in.AtBlock != nil {
					continue // what stood there at that block is not known
				}
				is = s.set(a, slot, is)
			}
			if was == is {
				continue
			}
			if len(v.Storage) == maxStorageRows {
				more++
				continue
			}
			v.Storage = append(v.Storage, StorageRow{s.d.party(a), api.Hex(slot[:]), api.Hex(was[:]), api.Hex(is[:])})
		}
	}
	v.cut(more, "slot")
}

// set returns the value that the simulation assigned to a slot, else the given one.
func (s *simulation) set(a common.Address, slot, byDefault common.Hash) common.Hash {
	for _, w := range s.in.Storage {
		if common.Address(w.Address) == a && common.Hash(w.Slot) == slot {
			return common.Hash(w.Value)
		}
	}
	return byDefault
}

func changedAccounts(diffs ...*ethrpc.StateDiff) []common.Address {
	all := map[common.Address]bool{}
	for _, d := range diffs {
		for _, side := range []map[common.Address]*ethrpc.Account{d.Pre, d.Post} {
			for a := range side {
				all[a] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), common.Address.Cmp)
}

func changedSlots(a common.Address, diffs ...*ethrpc.StateDiff) []common.Hash {
	all := map[common.Hash]bool{}
	for _, d := range diffs {
		for _, acc := range []*ethrpc.Account{d.Pre[a], d.Post[a]} {
			if acc == nil {
				continue
			}
			for slot := range acc.Storage {
				all[slot] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), common.Hash.Cmp)
}

// leftIn returns the final value of a slot: from the run's own diff, else its initial value
// from the diff of the other run.
func leftIn(of, other *ethrpc.StateDiff, a common.Address, slot common.Hash) common.Hash {
	if _, post, ok := changedSlot(of, a, slot); ok {
		return post
	}
	pre, _, _ := changedSlot(other, a, slot)
	return pre
}
