package facts

import (
	"math/big"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// BatchMinted reads the one ERC-2309 event of the called contract that mints a range.
func (a *Case) BatchMinted() (first, last *big.Int, to common.Address, ok bool) {
	if a.Receipt == nil {
		return nil, nil, to, false
	}
	n := 0
	for i := range a.Receipt.Logs {
		l := &a.Receipt.Logs[i]
		if f, e, from, t, is := ReadBatch(l); is && from == (common.Address{}) && l.Address == a.Entry {
			first, last, to = f, e, t
			n++
		}
	}
	return first, last, to, n == 1
}

func ReadBatch(l *ethrpc.Log) (first, last *big.Int, from, to common.Address, ok bool) {
	if len(l.Topics) != 4 || l.Topics[0] != evmsig.TopicConsecutiveTransfer || len(l.Data) != 32 {
		return nil, nil, from, to, false
	}
	from, ok1 := evmsig.Address(l.Topics[2][:])
	to, ok2 := evmsig.Address(l.Topics[3][:])
	first, last = l.Topics[1].Big(), new(big.Int).SetBytes(l.Data)
	return first, last, from, to, ok1 && ok2 && last.Cmp(first) >= 0
}

func TokensOf(legs []Leg) (list []Leg) {
	for _, l := range legs {
		if !l.Native() {
			list = append(list, l)
		}
	}
	return list
}
