package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// errUnbalanced: a frame was closed that is not open, or frames were left open.
var errUnbalanced = errors.New("frames do not balance")

// Live builds a tree during an execution, as callTracer with logs would report it, with the
// same compression as the parsers, so that memory is bounded by the frames kept. Calls come
// in execution order, from one goroutine. After an error every further call does nothing.
type Live struct {
	b    *builder
	open int // frames open
	root *Frame
	err  error
}

// NewLive starts an empty tree.
func NewLive(lim Limits) *Live { return &Live{b: newBuilder(lim)} }

// Enter opens a frame under the innermost open one. input is copied.
func (l *Live) Enter(kind Kind, from, to common.Address, value *uint256.Int, gas uint64, input []byte) error {
	if l.err == nil && l.open == 0 && l.root != nil {
		l.err = errUnbalanced
	}
	if l.err != nil {
		return l.err
	}
	lv, err := l.b.open(l.open)
	if err != nil {
		l.err = err
		return err
	}
	l.open++
	f := lv.frame
	f.Kind, f.From, f.To, f.HasTo, f.Gas = kind, from, to, true, gas
	if value != nil {
		f.Value = *value
	}
	f.Input = bytes.Clone(input)
	return nil
}

// Log adds a log to the innermost open frame. It keeps topics and data.
func (l *Live) Log(address common.Address, topics []common.Hash, data []byte) {
	if l.err != nil || l.open == 0 {
		return
	}
	lv := l.b.levels[l.open-1]
	lv.logs = append(lv.logs, Log{Address: address, Topics: topics, Data: data, Calls: lv.made, Receipt: -1})
}

// Exit closes the innermost open frame. failure is empty when it succeeded; a
// failed creation has no address. output is copied.
func (l *Live) Exit(output []byte, gasUsed uint64, failure, revertReason string) error {
	if l.err == nil && l.open == 0 {
		l.err = errUnbalanced
	}
	if l.err != nil {
		return l.err
	}
	l.open--
	lv := l.b.levels[l.open]
	f := lv.frame
	f.Output, f.GasUsed = bytes.Clone(output), gasUsed
	f.Err, f.RevertReason = clip(failure), clip(revertReason)
	if f.Err != "" {
		lv.logs = lv.logs[:0]
		if f.Kind.Creates() {
			f.To, f.HasTo = common.Address{}, false
		}
	}
	closed := l.b.close(l.open)
	if l.open == 0 {
		l.root = closed
	}
	return nil
}

// Tree completes the tree. It removes the logs of reverted frames, as nodes do.
func (l *Live) Tree(source Source) (*Tree, error) {
	if l.err == nil && (l.open != 0 || l.root == nil) {
		l.err = errUnbalanced
	}
	if l.err != nil {
		return nil, fmt.Errorf("build trace: %w", l.err)
	}
	t := l.b.tree(source, l.root)
	l.err = errUnbalanced // the builder is given back
	t.HasLogs = true
	for _, f := range t.Frames {
		if f.Status != OK {
			f.Logs = nil
		}
	}
	return t, nil
}

// clip cuts words at maxWords bytes, at a rune's edge.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxWords {
		return s
	}
	n := maxWords
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
