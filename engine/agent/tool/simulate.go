package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/replay"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/holiman/uint256"
)

// Bounds of a simulation.
const (
	maxGas        = 60_000_000 // of the transaction: about a block of mainnet
	maxReads      = 8_000      // requests to the node, of both runs together
	maxTraceBytes = 48 << 20
	maxStub       = 4 << 10 // bytes that a stub returns
)

type simulateInput struct {
	Without  []leftOut       `json:"without"  max:"5"          doc:"calls to leave out"`
	From     *Address        `json:"from"                      doc:"another sender; it is given coin for gas and value"`
	To       *Address        `json:"to"                        doc:"another callee of the transaction"`
	ValueWei *Amount         `json:"valueWei"                  doc:"another value sent with the transaction"`
	Input    *Bytes          `json:"input"                     doc:"another calldata of the transaction"`
	Words    []wordChange    `json:"words"    max:"16"         doc:"words of the transaction's calldata to replace"`
	Frames   []frameChange   `json:"frames"   max:"5"          doc:"inner calls to make with another value or calldata"`
	Balances []balanceChange `json:"balances" max:"16"         doc:"native balances to set before it"`
	Storage  []storageChange `json:"storage"  max:"32"         doc:"storage to set before it"`
	AtBlock  *int            `json:"atBlock"  max:"2000000000" doc:"run on the state at the end of this earlier block instead of just before the transaction" min:"1"`
}

type leftOut struct {
	Frame   Path    `json:"frame"   need:"" doc:"path of an inner call"`
	Returns *string `json:"returns"         doc:"recorded (what it returned in fact; when absent), nothing, revert, or 0x data" max:"8194"`
}

type wordChange struct {
	Word  int  `json:"word"  need:"" min:"0" max:"100000" doc:"position behind the selector, as decode_calldata counts"`
	Value Word `json:"value" need:""                      doc:"what to put there"`
}

type frameChange struct {
	Frame    Path         `json:"frame"    need:"" doc:"path of an inner call"`
	ValueWei *Amount      `json:"valueWei"         doc:"value to send with it"`
	Words    []wordChange `json:"words"            doc:"words of its calldata to replace" max:"16"`
}

type balanceChange struct {
	Address Address `json:"address" need:"" doc:"whose"`
	Wei     Amount  `json:"wei"     need:"" doc:"the balance"`
}

type storageChange struct {
	Address Address `json:"address" need:"" doc:"whose"`
	Slot    Word    `json:"slot"    need:"" doc:"the slot"`
	Value   Word    `json:"value"   need:"" doc:"its value"`
}

var simulate = hypothetical(
	define(
		"simulate",
		"Re-executes the transaction here with something changed (a call left out, another sender, value or calldata, other balances, storage or state) and gives the difference to the real run. With nothing changed it says whether the transaction can be reproduced. A finding that names a cause should survive its removal.",
		limitReplay,
		func(ctx context.Context, d *Env, in *simulateInput) (any, error) {
			s, why, err := newSimulation(ctx, d, in)
			if err != nil || why != "" {
				return orUnavailable(why, err)
			}
			var answer any
			err = s.w.Local(ctx, upstream.ToolSimulate, d.tx().Hash.Hex()+" "+digest(in), func(ctx context.Context) (err error) {
				answer, err = s.run(ctx)
				return err
			})
			return answer, err
		},
	),
)

func hypothetical(t Tool) Tool {
	t.Hypothetical = true
	return t
}

func orUnavailable(why string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return unavailable("%s", why)
}

// digest identifies the changes, for the record.
func digest(in *simulateInput) string {
	text, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// simulation is one run of the simulate tool.
type simulation struct {
	d     *Env
	in    *simulateInput
	w     gather.World
	block *ethrpc.Block
	notes []string
}

// newSimulation prepares a simulation. It returns the reason if the evidence does not allow
// any.
func newSimulation(ctx context.Context, d *Env, in *simulateInput) (*simulation, string, error) {
	ev := d.Case.Evidence
	n, ok := d.block()
	switch {
	case !ok:
		return nil, noBlock, nil
	case ev.Receipt == nil || ev.Block == nil:
		return nil, "without receipt and block header there is nothing to compare a run with", nil
	case d.tx().Gas > maxGas:
		return nil, fmt.Sprintf("the transaction may use %d gas, more than is run here", d.tx().Gas), nil
	case in.AtBlock != nil && uint64(*in.AtBlock) >= n:
		return nil, "", fmt.Errorf("atBlock: want a block before %d", n)
	}
	w, err := d.world()
	if err != nil {
		return nil, "", err
	}
	if err := replay.Supported(d.chain(), ev.Block, d.tx()); err != nil {
		return nil, api.Clean(err.Error(), 300), nil
	}
	return &simulation{d: d, in: in, w: w, block: ev.Block}, "", nil
}

// run reproduces the transaction, runs it changed on the same state, and compares both.
func (s *simulation) run(ctx context.Context) (any, error) {
	real, ground, why, err := s.findBaseState(ctx)
	if err != nil || why != "" {
		return orUnavailable(why, err)
	}
	v := &SimulationView{Reproduced: true, BaseState: ground.words, Real: runView(real), Notes: s.notes}
	if s.unchanged() {
		return v, nil
	}
	tx, changes, err := s.changed(ground, real.Tree)
	if err != nil {
		return nil, err
	}
	at, earlier := *s.d.tx().BlockNumber-1, ground.earlier
	if s.in.AtBlock != nil {
		at, earlier = uint64(*s.in.AtBlock), nil
	}
	res, err := replay.RunWith(ctx, s.d.chain(), s.block, tx, earlier, gather.StateAt(s.w, s.d.chain(), at), s.options(changes))
	if err != nil {
		return nil, fmt.Errorf("run the changed transaction: %w", err)
	}
	s.compare(v, real, res, tx)
	return v, nil
}

func (s *simulation) unchanged() bool {
	in := s.in
	return len(in.Without)+len(in.Words)+len(in.Frames)+len(in.Balances)+len(in.Storage) == 0 &&
		in.From == nil && in.To == nil && in.ValueWei == nil && in.Input == nil && in.AtBlock == nil
}

func (s *simulation) options(c *replay.Changes) replay.Options {
	return replay.Options{MaxReads: maxReads, MaxTraceBytes: maxTraceBytes, Changes: c, Limits: trace.Limits{}}
}

// baseState is the state on which a run reproduces the transaction.
type baseState struct {
	words   string
	state   map[common.Address]*ethrpc.Account // overrides of the parent state
	earlier []*ethrpc.Transaction
}

// findBaseState finds the state on which the transaction reproduces its receipt: the parent
// state with the initial values of the state diff and, if that is not enough, after the
// earlier transactions of the block.
func (s *simulation) findBaseState(ctx context.Context) (*replay.Result, *baseState, string, error) {
	tx, parent := s.d.tx(), gather.StateAt(s.w, s.d.chain(), *s.d.tx().BlockNumber-1)
	g := &baseState{words: "the state at the end of the block before", state: prestate(s.d.Case.Evidence.Diff)}
	if g.state != nil {
		g.words += ", with what the state diff says stood there just before the transaction"
	}
	res, err := replay.RunWith(ctx, s.d.chain(), s.block, tx, nil, parent, s.options(&replay.Changes{State: g.state}))
	differs := ""
	if err == nil {
		if differs = s.differs(res); differs == "" {
			return res, g, "", nil
		}
	} else if ctx.Err() != nil || tx.Index == nil || *tx.Index == 0 || upstreamFault(err) {
		return nil, nil, "", fmt.Errorf("run the transaction: %w", err)
	}
	if tx.Index == nil || *tx.Index == 0 {
		return nil, nil, notReproduced(differs), nil
	}
	full, err := s.w.Block(ctx, s.d.chain(), *tx.BlockNumber, true)
	if err != nil {
		return nil, nil, "", fmt.Errorf("read block: %w", err)
	}
	g = &baseState{words: "the state after the earlier transactions of the block, which were re-executed",
		earlier: gather.EarlierThan(full, tx)}
	s.block = full
	if res, err = replay.RunWith(ctx, s.d.chain(), full, tx, g.earlier, parent, s.options(nil)); err != nil {
		return nil, nil, "", fmt.Errorf("run the transaction: %w", err)
	}
	if differs = s.differs(res); differs != "" {
		return nil, nil, notReproduced(differs), nil
	}
	return res, g, "", nil
}

func upstreamFault(err error) bool {
	var e *upstream.Error
	return errors.As(err, &e) || errors.Is(err, replay.ErrReadLimit) || errors.Is(err, replay.ErrTraceTooLarge)
}

func (s *simulation) differs(res *replay.Result) string {
	return strings.Join(replay.Verify(res, s.d.Case.Evidence.Receipt), "; ")
}

func notReproduced(how string) string {
	return "the local EVM does not reproduce the transaction, so a changed run would prove nothing: " + api.Clean(how, 200)
}

// prestate returns the initial values in a state diff: all old values of changed accounts,
// and zero for slots that only the later side names.
func prestate(diff *ethrpc.StateDiff) map[common.Address]*ethrpc.Account {
	if diff == nil {
		return nil
	}
	out := make(map[common.Address]*ethrpc.Account, len(diff.Pre))
	for a, pre := range diff.Pre {
		acc := *pre
		acc.Code = nil // code changes in the midst of a block are too rare to pay for them
		acc.Storage = maps.Clone(pre.Storage)
		if acc.Storage == nil {
			acc.Storage = map[common.Hash]common.Hash{}
		}
		if post := diff.Post[a]; post != nil {
			for slot := range post.Storage {
				if _, ok := acc.Storage[slot]; !ok {
					acc.Storage[slot] = common.Hash{}
				}
			}
		}
		out[a] = &acc
	}
	return out
}

// changed returns the transaction and the changes that the model asked for.
func (s *simulation) changed(g *baseState, real *trace.Tree) (*ethrpc.Transaction, *replay.Changes, error) {
	in, tx := s.in, *s.d.tx()
	c := &replay.Changes{SkipSenderChecks: true, State: map[common.Address]*ethrpc.Account{}}
	if in.AtBlock == nil {
		for a, acc := range g.state {
			own := *acc
			own.Storage = maps.Clone(acc.Storage)
			c.State[a] = &own
		}
	}
	if in.From != nil {
		tx.From = addressOf(in.From)
	}
	if in.To != nil {
		if tx.To == nil {
			return nil, nil, errors.New("to: the transaction creates a contract and has no callee")
		}
		to := addressOf(in.To)
		tx.To = &to
	}
	if in.ValueWei != nil {
		tx.Value = &in.ValueWei.Int
	}
	if in.Input != nil {
		tx.Input = *in.Input
	}
	tx.Input = slices.Clone(tx.Input)
	if err := patch(tx.Input, in.Words); err != nil {
		return nil, nil, err
	}
	for _, b := range in.Balances {
		s.account(c, b.Address).Balance = new(big.Int).Set(&b.Wei.Int)
	}
	for _, w := range in.Storage {
		acc := s.account(c, w.Address)
		if acc.Storage == nil {
			acc.Storage = map[common.Hash]common.Hash{}
		}
		acc.Storage[common.Hash(w.Slot)] = common.Hash(w.Value)
	}
	return &tx, c, s.frameChanges(c, real)
}

func (s *simulation) account(c *replay.Changes, a Address) *ethrpc.Account {
	if c.State[common.Address(a)] == nil {
		c.State[common.Address(a)] = &ethrpc.Account{}
	}
	return c.State[common.Address(a)]
}

func patch(input []byte, words []wordChange) error {
	for _, w := range words {
		if 4+32*w.Word+32 > len(input) {
			return fmt.Errorf("words: the calldata has no whole word %d", w.Word)
		}
		copy(input[4+32*w.Word:], w.Value[:])
	}
	return nil
}

func (s *simulation) frameChanges(c *replay.Changes, real *trace.Tree) error {
	for _, l := range s.in.Without {
		f, path, err := s.inner(real, l.Frame)
		if err != nil {
			return fmt.Errorf("without: %w", err)
		}
		stub, err := stubOf(f, or(l.Returns, "recorded"))
		if err != nil {
			return fmt.Errorf("without: %w", err)
		}
		c.Frames = append(c.Frames, replay.FrameChange{Path: path, Stub: stub})
	}
	for _, ch := range s.in.Frames {
		_, path, err := s.inner(real, ch.Frame)
		if err != nil {
			return fmt.Errorf("frames: %w", err)
		}
		out := replay.FrameChange{Path: path, Words: map[int]common.Hash{}}
		if ch.ValueWei != nil {
			out.Value, _ = uint256.FromBig(&ch.ValueWei.Int)
		}
		for _, w := range ch.Words {
			out.Words[w.Word] = common.Hash(w.Value)
		}
		c.Frames = append(c.Frames, out)
	}
	return nil
}

// stubOf returns the stub that replaces a frame.
func stubOf(f *trace.Frame, returns string) (*replay.Stub, error) {
	switch {
	case returns == "recorded":
		return &replay.Stub{Data: f.Output, Revert: f.Err != ""}, nil
	case returns == "nothing":
		return &replay.Stub{}, nil
	case returns == "revert":
		return &replay.Stub{Revert: true}, nil
	}
	data, err := hexBytes(returns, maxStub)
	if err != nil {
		return nil, errors.New("returns: want recorded, nothing, revert or 0x data")
	}
	return &replay.Stub{Data: data}, nil
}

// inner finds an inner call in the local run, and its index among all calls, omitted ones
// included. The trace of the evidence may come from another source, in which some calls are
// not counted; then the path could mean another call here, and is rejected.
func (s *simulation) inner(real *trace.Tree, path Path) (*trace.Frame, []int, error) {
	seen, err := s.d.frame(path)
	if err != nil {
		return nil, nil, err
	}
	switch seen.Kind {
	case trace.Call, trace.StaticCall, trace.DelegateCall, trace.CallCode:
	default:
		return nil, nil, fmt.Errorf("frame %s is a %s: only calls can be changed", path, seen.Kind)
	}
	if seen.Parent == nil {
		return nil, nil, errors.New("frame 0 is the transaction itself: change from, to, valueWei, input or words")
	}
	i := slices.IndexFunc(real.Frames, func(f *trace.Frame) bool { return f.Path() == string(path) })
	if i < 0 || real.Frames[i].To != seen.To || !bytes.Equal(real.Frames[i].Input, seen.Input) {
		return nil, nil, fmt.Errorf("frame %s is another call where this runs, because the trace at hand does not count all calls", path)
	}
	var at []int
	for g := real.Frames[i]; g.Parent != nil; g = g.Parent {
		n, ok := position(g)
		if !ok {
			return nil, nil, fmt.Errorf("frame %s stands behind calls that were left out of the trace", path)
		}
		at = append(at, n)
	}
	slices.Reverse(at)
	return real.Frames[i], at, nil
}

// position counts the calls of the caller before a frame, including those omitted because
// they repeat others.
func position(f *trace.Frame) (int, bool) {
	kept := slices.Index(f.Parent.Children, f)
	n := kept
	for _, m := range f.Parent.Markers {
		if m.After > kept {
			continue
		}
		if m.Elided {
			return 0, false
		}
		n += m.Period * m.Repeats
	}
	return n, true
}

// logKey is the content of a log, for comparison.
func logKey(l *ethrpc.Log) string {
	var b bytes.Buffer
	b.Write(l.Address[:])
	b.WriteString(strconv.Itoa(len(l.Topics)))
	for _, t := range l.Topics {
		b.Write(t[:])
	}
	b.Write(l.Data)
	return b.String()
}
