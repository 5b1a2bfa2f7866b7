package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/client"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalWidth is the number of columns; 80 if it is not known.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// oneLine removes control characters, because text from a node could move the cursor.
func oneLine(s string) string { return api.OneLine(s, 4096) }

// progress shows on stderr what an analysis does: in one line that is updated on a
// terminal, and in plain lines otherwise. It is safe for concurrent use.
type progress struct {
	w     io.Writer
	tty   bool
	quiet bool

	mu   sync.Mutex
	open map[string]bool
	list []string // running phases in the order of their start
	seen bool     // the updated line is not empty
	hint string   // what went wrong in the first phase that a result needs, and what can be done about it

	calls  int          // requests and tool calls of the model that have ended
	signed tempo.Amount // in vouchers for the purchase
	model  modelState
}

// modelState is the progress of the model.
type modelState struct {
	turn int64  // 0: it has not begun
	tool string // the last tool that it called in this turn
	cost string // so far, in dollars
}

func (m *modelState) String() string {
	text := fmt.Sprintf("turn %d of the model", m.turn)
	if m.tool != "" {
		text += ", " + m.tool
	}
	if m.cost != "" {
		text += ", $" + m.cost
	}
	return text
}

func newProgress(w io.Writer, tty, quiet bool) *progress {
	return &progress{w: w, tty: tty, quiet: quiet, open: make(map[string]bool)}
}

// needed are the phases without which a result is partial.
var needed = map[string]bool{"probe": true, "transaction": true, "trace": true}

// event takes one event of the analysis.
func (p *progress) event(e api.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hint == "" && needed[e.Phase] {
		p.hint = strings.Join(slices.DeleteFunc([]string{e.Detail, e.Hint}, func(s string) bool { return s == "" }), "; ")
	}
	if e.Type == api.EventToolResult {
		if p.calls++; !p.quiet && p.tty && !p.signed.IsZero() {
			p.say("")
		}
		return
	}
	switch {
	case p.quiet:
	case e.Type == api.EventPreflightStatus:
		p.phase(e)
	default:
		p.talk(e)
	}
}

// phase shows a phase of fetching evidence.
func (p *progress) phase(e api.Event) {
	switch e.State {
	case api.StateFound:
		p.say(e.Message)
	case api.StateStarted:
		p.open[e.Phase] = true
		p.list = append(p.list, e.Phase)
		p.say("")
	case api.StateFailed:
		delete(p.open, e.Phase)
		text := e.Phase + " failed"
		if e.Detail != "" && !needed[e.Phase] { // for the others the last line gives the reason
			text += ": " + e.Detail
		}
		p.say(text)
	case api.StateDone:
		delete(p.open, e.Phase)
		p.say(e.Phase + " done")
	}
}

// talk shows an event of the model. Events may come from a server, so any member may be
// missing.
func (p *progress) talk(e api.Event) {
	switch {
	case e.Type == api.EventIteration && e.Iteration != nil:
		p.model.turn, p.model.tool = *e.Iteration, ""
		if !p.tty {
			p.say(p.model.String())
			return
		}
	case e.Type == api.EventSkillCall:
		p.line("the model follows the playbook " + e.Skill)
	case e.Type == api.EventAgentStatus && e.State == api.StateRetrying:
		p.line(e.Message + "; asking again")
	case p.model.turn == 0:
		return // requests for evidence are shown by their phase
	case e.Type == api.EventToolCall:
		p.model.tool = api.OneLine(e.Tool, 40)
	case e.Type == api.EventTokens && e.CostUSD != nil:
		p.model.cost = e.CostUSD.String()
	default:
		return
	}
	p.say("")
}

// money handles a payment event. Only events that matter to a person get their own line.
func (p *progress) money(m client.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Kind {
	case client.MoneySigned:
		p.signed, _ = p.signed.Add(m.Amount)
		if p.tty && !p.quiet {
			p.say("")
		}
	case client.MoneyOpened:
		p.line("opened a channel with a deposit of $" + mpp.FormatTokens(m.Amount))
	case client.MoneyToppedUp:
		p.line("topped the channel up by $" + mpp.FormatTokens(m.Amount) + " to $" + mpp.FormatTokens(m.Channel.Deposit))
	case client.MoneyNotice:
		p.line(m.Text)
	}
}

// paid formats the amount of the vouchers.
func (p *progress) paid() tempo.Amount {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signed
}

// note writes a line.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(text)
}

// line writes a line that is not updated.
func (p *progress) line(text string) {
	if p.quiet {
		return
	}
	if p.seen {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.seen = false
	}
	fmt.Fprintln(p.w, oneLine(text))
}

func (p *progress) say(what string) {
	if !p.tty {
		if what != "" {
			fmt.Fprintln(p.w, oneLine(what))
		}
		return
	}
	var under []string
	for _, phase := range p.list {
		if p.open[phase] {
			under = append(under, phase)
		}
	}
	text := oneLine(what)
	if len(under) > 0 {
		if text != "" {
			text += "; "
		}
		text += doing(under)
	} else if p.model.turn > 0 {
		if text != "" {
			text += "; "
		}
		text += p.model.String()
	}
	if !p.signed.IsZero() {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s, $%s", api.Count(p.calls, "call"), mpp.FormatTokens(p.signed))
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", api.OneLine(text, terminalWidth(p.w)-1))
	p.seen = true
}

func doing(phases []string) string {
	if phases[0] == "probe" { // no other phase runs before the chain is known
		return "looking for the chain"
	}
	return "working on " + strings.Join(phases, ", ")
}

// end clears the updating line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.seen = false
	}
}
