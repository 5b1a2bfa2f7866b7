package ethrpc

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"txlens/engine/ethrpc/rpcjson"
)

// readReceipt reads the object of a receipt. Before Byzantium there is a state
// root where the status is now. A receipt without gas or logs is a truncated one.
func readReceipt(r *rpcjson.Reader) *Receipt {
	rc := new(Receipt)
	if !r.Object() {
		return rc
	}
	r.Pack = true // logs are kept together or not at all
	var logs bool
	var gas *uint64
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "from":
			rc.From = r.AddressPtr()
		case "to":
			rc.To = r.AddressPtr()
		case "transactionHash":
			rc.TxHash = r.HashPtr()
		case "blockHash":
			rc.BlockHash = r.HashPtr()
		case "blockNumber":
			rc.BlockNumber = r.Uint64Ptr()
		case "type":
			rc.Type = r.Uint64Ptr()
		case "status":
			rc.Status = r.Uint64Ptr()
		case "gasUsed":
			gas = r.Uint64Ptr()
		case "cumulativeGasUsed":
			rc.CumulativeGasUsed = r.Uint64()
		case "effectiveGasPrice":
			rc.EffectiveGasPrice = r.Big()
		case "contractAddress":
			rc.ContractAddress = r.AddressPtr()
		case "logs":
			rc.Logs, logs = readLogs(r), true
		case "logsBloom":
			rc.Bloom = readBloom(r)
		case "blobGasUsed":
			rc.BlobGasUsed = r.Uint64()
		case "blobGasPrice":
			rc.BlobGasPrice = r.Big()
		default:
			readRollupFee(r, rc, name)
		}
	}
	r.Require(gas != nil, "gasUsed")
	r.Require(logs, "logs")
	if gas != nil {
		rc.GasUsed = *gas
	}
	return rc
}

// readBloom reads the bloom filter of the logs. Nodes that write another length say nothing
// with it.
func readBloom(r *rpcjson.Reader) *types.Bloom {
	b := r.Bytes()
	if len(b) != types.BloomByteLength {
		return nil
	}
	return (*types.Bloom)(b)
}

// LacksLogs reports whether the bloom filter announces logs that the receipt does not hold.
// Chains that leave the filter empty announce none.
func (rc *Receipt) LacksLogs() bool {
	return rc.Bloom != nil && !covers(rc.Logs, rc.Bloom)
}

// covers reports whether logs set all bits of a filter (yellow paper, section 4.3.1). It stops
// as soon as they do, after few logs as a rule.
func covers(logs []Log, want *types.Bloom) bool {
	var have types.Bloom
	missing := *want != have
	for i := 0; missing && i < len(logs); i++ {
		have.Add(logs[i].Address[:])
		for _, t := range logs[i].Topics {
			have.Add(t[:])
		}
		missing = !contains(&have, want)
	}
	return !missing
}

// contains reports whether all bits of b are set in a.
func contains(a, b *types.Bloom) bool {
	for i := range b {
		if b[i]&^a[i] != 0 {
			return false
		}
	}
	return true
}

// WithLogs returns the receipt with other logs, nil if its bloom filter is not exactly theirs.
func (rc *Receipt) WithLogs(logs []Log) *Receipt {
	var bloom types.Bloom
	for i := range logs {
		bloom.Add(logs[i].Address[:])
		for _, t := range logs[i].Topics {
			bloom.Add(t[:])
		}
	}
	if rc.Bloom == nil || bloom != *rc.Bloom {
		return nil
	}
	out := *rc
	out.Logs = logs
	return &out
}

func readRollupFee(r *rpcjson.Reader, rc *Receipt, name []byte) {
	switch string(name) {
	case "l1Fee":
		rc.L1Fee = r.Big()
	case "operatorFeeScalar":
		rc.OperatorFeeScalar = r.Big()
	case "operatorFeeConstant":
		rc.OperatorFeeConstant = r.Big()
	case "gasUsedForL1":
		rc.GasUsedForL1 = r.Uint64Ptr()
	case "depositNonce":
		rc.DepositNonce = r.Uint64Ptr()
	default:
		r.Skip()
	}
}

// logScratch holds the logs of a receipt until their number is known. Its arrays
// are reused, so they hold nothing between uses.
type logScratch struct {
	logs   []Log
	topics []common.Hash
	counts []uint8 // topics of each log
}

var scratches = sync.Pool{New: func() any { return new(logScratch) }}

// Larger scratch is left to the collector.
const keptScratch = 1 << 14

func (s *logScratch) release() {
	if cap(s.logs) > keptScratch {
		return
	}
	clear(s.logs)
	s.logs, s.topics, s.counts = s.logs[:0], s.topics[:0], s.counts[:0]
	scratches.Put(s)
}

// readLogs reads the logs; their topics share one array.
func readLogs(r *rpcjson.Reader) []Log {
	if !r.Array() {
		return nil
	}
	s := scratches.Get().(*logScratch)
	defer s.release()
	for r.More() {
		if full(r, len(s.logs), maxLogs, "logs") || !enter(r) {
			return nil
		}
		readLog(r, s)
	}
	if r.Err() != nil {
		return nil
	}
	out := make([]Log, len(s.logs))
	copy(out, s.logs)
	topics := make([]common.Hash, len(s.topics))
	copy(topics, s.topics)
	for i, n := range s.counts {
		out[i].Topics, topics = topics[:n:n], topics[n:]
	}
	return out
}

func readLog(r *rpcjson.Reader, s *logScratch) {
	var l Log
	var address bool
	before := len(s.topics)
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "address":
			address = r.Address(&l.Address)
		case "topics":
			s.topics = s.topics[:before]
			readTopics(r, s)
		case "data":
			l.Data = r.Bytes()
		case "logIndex":
			l.Index = r.Uint64()
		default:
			r.Skip()
		}
	}
	r.Require(address, "address")
	s.logs = append(s.logs, l)
	s.counts = append(s.counts, uint8(len(s.topics)-before))
}

func readTopics(r *rpcjson.Reader, s *logScratch) {
	if !r.Array() {
		return
	}
	for n := 0; r.More(); n++ {
		if full(r, n, maxTopics, "topics") {
			return
		}
		s.topics = append(s.topics, common.Hash{})
		requireHash(r, &s.topics[len(s.topics)-1])
	}
}
