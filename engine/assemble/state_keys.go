package assemble

import (
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// read collects what logs and calls say about balances, allowances, NFTs and owners.
func (s *slotNames) read() {
	s.moved, s.nfts = map[holding]*big.Int{}, map[nft]transferred{}
	s.owners, s.grants, s.spent = map[common.Address]transferred{}, map[grant]*big.Int{}, map[grant]*big.Int{}
	for i := range s.b.flow.Transfers {
		s.transfer(&s.b.flow.Transfers[i])
	}
	for i := range s.b.receipt.Logs {
		s.log(&s.b.receipt.Logs[i])
	}
	for _, f := range s.b.tree.Frames {
		s.spend(f)
	}
}

func (s *slotNames) transfer(t *flow.Transfer) {
	switch t.Standard {
	case flow.ERC20:
		s.move(holding{t.Token, t.From}, new(big.Int).Neg(t.Amount))
		s.move(holding{t.Token, t.To}, t.Amount)
	case flow.ERC721:
		if t.ID == nil || t.ID.BitLen() > 256 {
			return
		}
		k := nft{t.Token, common.BigToHash(t.ID)}
		first, moved := s.nfts[k]
		if !moved {
			first.from = t.From
		}
		s.nfts[k] = transferred{first.from, t.To}
	}
}

func (s *slotNames) move(h holding, n *big.Int) {
	if s.moved[h] == nil {
		s.moved[h] = new(big.Int)
	}
	s.moved[h].Add(s.moved[h], n)
}

func (s *slotNames) log(l *ethrpc.Log) {
	if len(l.Topics) != 3 {
		return
	}
	first, second := common.BytesToAddress(l.Topics[1][12:]), common.BytesToAddress(l.Topics[2][12:])
	switch l.Topics[0] {
	case evmsig.TopicApproval:
		if n := evmsig.Uint(l.Data, 0); n != nil {
			s.grants[grant{l.Address, first, second}] = n
		}
	case evmsig.TopicOwnershipTransferred:
		t, again := s.owners[l.Address]
		if !again {
			t.from = first
		}
		s.owners[l.Address] = transferred{t.from, second}
	}
}

// spend adds what a call of transferFrom took from an allowance.
func (s *slotNames) spend(f *trace.Frame) {
	g, n := spending(f)
	if n == nil || f.Status != trace.OK {
		return
	}
	if s.spent[g] == nil {
		s.spent[g] = new(big.Int)
	}
	s.spent[g].Add(s.spent[g], n)
}

// spending reads a call of transferFrom; nil if a frame is none.
func spending(f *trace.Frame) (g grant, n *big.Int) {
	if f.Kind != trace.Call || len(f.Input) < 100 || [4]byte(f.Input[:4]) != evmsig.SelTransferFrom {
		return g, nil
	}
	return grant{f.To, common.BytesToAddress(f.Input[16:36]), f.From}, evmsig.Uint(f.Input[4:], 2)
}

// keys are the addresses and words that occur in the transaction: topics first, because
// events name the keys of the mappings that they report on.
func (s *slotNames) keys() statediff.Keys {
	k := &keyList{seen: map[common.Hash]bool{}, paired: map[[2]common.Hash]bool{}}
	k.address(s.b.ev.Tx.From)
	logs, frames := s.b.receipt.Logs, s.b.tree.Frames
	for i := range logs {
		for _, topic := range logs[i].Topics[min(1, len(logs[i].Topics)):] {
			k.word(topic)
		}
		if l := &logs[i]; len(l.Topics) == 3 && l.Topics[0] == evmsig.TopicApproval {
			k.pair(l.Topics[1], l.Topics[2])
		}
	}
	for _, f := range frames {
		k.address(f.From)
		k.address(f.To)
		if g, n := spending(f); n != nil {
			k.pair(statediff.Word(g.owner), statediff.Word(g.spender))
		}
	}
	for i := range logs {
		k.words(logs[i].Data)
	}
	for _, f := range frames {
		if len(f.Input) > 4 && !f.Kind.Creates() {
			k.words(f.Input[4:])
		}
		k.words(f.Output[:min(len(f.Output), maxOutputWords)])
	}
	return k.Keys
}

// maxOutputWords bounds the bytes of return data that keys are taken from.
const maxOutputWords = 256

// keyList collects keys without repetition, up to the bounds of the search.
type keyList struct {
	statediff.Keys
	seen   map[common.Hash]bool
	paired map[[2]common.Hash]bool
}

func (k *keyList) address(a common.Address) { k.word(statediff.Word(a)) }

func (k *keyList) word(w common.Hash) {
	if len(k.Single) < statediff.MaxKeys && !k.seen[w] {
		k.seen[w] = true
		k.Single = append(k.Single, w)
	}
}

func (k *keyList) words(data []byte) {
	for ; len(data) >= 32 && len(k.Single) < statediff.MaxKeys; data = data[32:] {
		k.word(common.Hash(data[:32]))
	}
}

func (k *keyList) pair(a, b common.Hash) {
	p := [2]common.Hash{a, b}
	if len(k.Pairs) < statediff.MaxPairs && !k.paired[p] {
		k.paired[p] = true
		k.Pairs = append(k.Pairs, p)
	}
}
