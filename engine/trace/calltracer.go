package trace

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/ethrpc/rpcjson"
)

// Words of the node are cut here: they may hold what a contract chose to revert with.
const maxWords = 4096

// ParseCallTracer reads the result of debug_traceTransaction with callTracer as the next
// value of dec, frame by frame, without holding the whole trace in memory. Keys may have
// any order; unknown keys are skipped. The error is ErrNull for null, ErrDepth, or one that
// names the field by its JSON pointer.
func ParseCallTracer(dec *jsontext.Decoder, lim Limits) (*Tree, error) {
	return parseCallTracer(rpcjson.New(dec), lim)
}

// ParseCallTracerBytes reads a trace that is in memory, like ParseCallTracer.
func ParseCallTracerBytes(b []byte, lim Limits) (t *Tree, err error) {
	var inner error
	err = rpcjson.Parse(b, func(r *rpcjson.Reader) error {
		t, inner = parseCallTracer(r, lim)
		return inner
	})
	if err != nil && inner == nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return t, err
}

func parseCallTracer(r *rpcjson.Reader, lim Limits) (*Tree, error) {
	if r.Null() {
		return nil, fmt.Errorf("read trace: %w", ErrNull)
	}
	p := callTracer{r: r, b: newBuilder(lim)}
	root := p.frame(0)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	t := p.b.tree(SourceDebug, root)
	t.HasLogs = p.hasLogs
	return t, nil
}

type callTracer struct {
	r       *rpcjson.Reader
	b       *builder
	hasLogs bool
}

var (
	errTwice = errors.New("given twice")
	errTopic = errors.New("more than 4 topics")
)

// frame reads one frame with its children. It gives nil after an error.
func (p *callTracer) frame(depth int) *Frame {
	r := p.r
	lv, err := p.b.open(depth)
	if err != nil {
		r.Fail(err)
		return nil
	}
	// Packed data would pin its neighbours when frames are dropped.
	r.Pack = !p.b.compressing
	entered := r.Object()
	r.Require(entered, "frame")
	f := lv.frame
	var kind, from bool
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "type":
			f.Kind, kind = kindOf(r.Word()), true
		case "from":
			from = r.Address(&f.From)
		case "to":
			f.HasTo = r.Address(&f.To)
		case "value":
			r.Uint256(&f.Value)
		case "gas":
			f.Gas = r.Uint64()
		case "gasUsed":
			f.GasUsed = r.Uint64()
		case "input":
			f.Input = r.Bytes()
		case "output":
			f.Output = r.Bytes()
		default:
			p.rest(lv, depth, name)
		}
	}
	r.Require(kind, "type")
	r.Require(from, "from")
	if r.Err() != nil {
		return nil
	}
	if f.Err == "" && f.RevertReason != "" {
		f.Err = "execution reverted" // zkSync names the reason alone
	}
	return p.b.close(depth)
}

// rest reads the fields that only some frames have.
func (p *callTracer) rest(lv *level, depth int, name []byte) {
	r := p.r
	switch string(name) {
	case "error":
		lv.frame.Err = r.Text(maxWords)
	case "revertReason":
		lv.frame.RevertReason = r.Text(maxWords)
	case "calls":
		// A decoder that lets duplicate names pass would mix two lists here.
		if lv.made > 0 {
			r.Fail(errTwice)
		}
		if r.Array() {
			for r.More() {
				p.frame(depth + 1)
			}
		}
	case "logs":
		if len(lv.logs) > 0 {
			r.Fail(errTwice)
		}
		if r.Array() {
			p.hasLogs = true
			for r.More() {
				p.log(lv)
			}
		}
	default:
		r.Skip()
	}
}

func (p *callTracer) log(lv *level) {
	r := p.r
	entered := r.Object()
	r.Require(entered, "log")
	l := Log{Calls: unplaced, Receipt: -1}
	var address bool
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "address":
			address = r.Address(&l.Address)
		case "topics":
			l.Topics = readTopics(r)
		case "data":
			l.Data = r.Bytes()
		case "position":
			if n := r.Uint64Ptr(); n != nil {
				l.Calls = int(min(*n, 1<<31))
			}
		default:
			r.Skip()
		}
	}
	r.Require(address, "address")
	lv.logs = append(lv.logs, l)
}

func readTopics(r *rpcjson.Reader) []common.Hash {
	if !r.Array() {
		return nil
	}
	var topics [4]common.Hash
	n := 0
	for r.More() {
		if n == len(topics) {
			r.Fail(errTopic)
			return nil
		}
		ok := r.Hash(&topics[n])
		r.Require(ok, "topic")
		n++
	}
	return append(make([]common.Hash, 0, n), topics[:n]...)
}
