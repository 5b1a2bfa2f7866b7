package assemble_test

import (
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
	"txlens/testkit/oracle"
	"txlens/testkit/recorded"
	"txlens/testkit/size"
)

// TestRolesByOracle: who did what, and how much, is what a second reading of the logs and calls
// says, in each recorded transaction whose evidence leaves no doubt.
func TestRolesByOracle(t *testing.T) {
	var p oracle.Report
	for _, b := range fixture.Blocks(t) {
		judgeBlock(t, &p, &b)
	}
	for _, id := range fixture.LabelledChains() {
		for _, x := range fixture.LabelledOf(t, id) {
			p.Judge(second(t, x.ChainID, x.Tx, x.Receipt, nil), assemble.Result(recorded.Labelled(t, &x)))
		}
	}
	for _, m := range fixture.MEVs(t) {
		ev := recorded.MEV(t, &m)
		p.Judge(secondOfTree(ev), assemble.Result(ev))
	}
	for i, x := range fixture.Exploits(t) {
		if size.Full() || i%4 == 0 {
			p.Judge(second(t, x.ChainID, x.Tx, x.Receipt, x.Trace), assemble.Result(recorded.Exploit(t, &x)))
		}
	}
	for _, fault := range p.Faults {
		t.Error(fault)
	}
	for _, part := range oracle.Parts() {
		t.Logf("%-16s judged %d transactions", part, p.Judged[part])
		if p.Judged[part] == 0 {
			t.Errorf("%s: no recorded transaction was judged", part)
		}
	}
}

// judgeBlock judges the transactions of a block with their neighbours.
func judgeBlock(t *testing.T, p *oracle.Report, b *fixture.Block) {
	t.Helper()
	var list []*assemble.Evidence
	cases := map[string]*oracle.Case{}
	for i := range b.Txs {
		x := &b.Txs[i]
		ev := recorded.Evidence(t, b, x)
		list = append(list, ev)
		cases[ev.TxHash] = second(t, b.ChainID, x.Tx, x.Receipt, x.Trace)
		cases[ev.TxHash].CoinUSD = "3120.45" // as package recorded makes it up
	}
	for i, ev := range list {
		ev.Neighbours = neighbours(list, i)
		r := assemble.Result(ev)
		p.Judge(cases[ev.TxHash], r)
		p.JudgeSandwich(cases[ev.TxHash], r, cases)
	}
}

// neighbours are the receipts of up to four transactions on each side that did not fail.
func neighbours(list []*assemble.Evidence, at int) *ethrpc.Neighbours {
	stood := func(list []*assemble.Evidence) (out []*ethrpc.Receipt) {
		for _, ev := range list {
			if ev.Receipt.Status == nil || *ev.Receipt.Status != 0 {
				out = append(out, ev.Receipt)
			}
		}
		return out
	}
	return &ethrpc.Neighbours{Before: stood(list[max(0, at-4):at]), After: stood(list[at+1 : min(len(list), at+5)])}
}

func second(t *testing.T, chainID uint64, tx, receipt, trace []byte) *oracle.Case {
	t.Helper()
	c, err := oracle.Read(chainID, tx, receipt, trace)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secondOfTree is the second reading of what was recorded as a tree of calls alone.
func secondOfTree(ev *assemble.Evidence) *oracle.Case {
	c := &oracle.Case{ChainID: 1, Hash: ev.TxHash, From: api.Addr(ev.Tx.From), Value: ev.Tx.Value, Input: ev.Tx.Input, OK: ev.Tree.Root.Err == ""}
	if ev.Tx.To != nil {
		c.To = api.Addr(*ev.Tx.To)
	}
	for _, l := range ev.Receipt.Logs {
		var topics []string
		for _, topic := range l.Topics {
			topics = append(topics, topic.Hex())
		}
		c.Logs = append(c.Logs, oracle.Log{Address: api.Addr(l.Address), Topics: topics, Data: l.Data, Index: uint64(l.Index)})
	}
	for _, f := range ev.Tree.Frames {
		moves := slices.Contains([]trace.Kind{trace.Call, trace.Create, trace.Create2, trace.SelfDestruct}, f.Kind)
		if moves && f.Status == trace.OK && !f.Value.IsZero() {
			c.Paid(api.Addr(f.From), api.Addr(f.To), f.Value.ToBig())
		}
	}
	return c
}
