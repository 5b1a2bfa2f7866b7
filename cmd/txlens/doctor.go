package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"

	"txlens/app/settings"
	"txlens/engine/chain"
	"txlens/engine/upstream"
	"txlens/storage/stores"
	"txlens/transport/client"
)

type doctorCmd struct {
	Chain   []string `name:"chain"    placeholder:"CHAIN" help:"Slug or id of a chain whose endpoints are checked; repeatable. Default those of --rpc, or Ethereum."`
	KeyFile string   `name:"key-file" placeholder:"FILE"  help:"Check the file of a payer's key, too."                                                                type:"path"`
	JSON    bool     `name:"json"                         help:"One JSON array instead of a table."`

	settings.Data     `embed:""`
	settings.Evidence `embed:"" group:"Where the evidence comes from:"`
}

// States of a check.
const (
	stateGood    = "ok"
	stateWarning = "warning"
	stateFault   = "fault"
)

// check is one line of the doctor.
type check struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do
}

// doctorTime is the time limit of all requests together.
const doctorTime = 30 * time.Second

// errUnwell means that a check found a fault, whose line was printed.
var errUnwell = errors.New("a check failed; its line says what to do")

// Run checks what an analysis needs.
func (cmd *doctorCmd) Run(ctx context.Context, c console) error {
	chains, err := cmd.chains()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	list := cmd.outside(ctx, chains)
	list = append(list, cmd.database(), cmd.provider())
	if cmd.KeyFile != "" {
		list = append(list, payerKey(cmd.KeyFile))
	}
	if err := printChecks(c, list, cmd.JSON); err != nil {
		return err
	}
	for _, k := range list {
		if k.State == stateFault {
			return errUnwell
		}
	}
	return nil
}

// chains are those whose endpoints are checked.
func (cmd *doctorCmd) chains() (list []*chain.Chain, err error) {
	for _, name := range cmd.Chain {
		ch, err := settings.ParseChain(name)
		if err != nil {
			return nil, settings.InputError{Err: fmt.Errorf("--chain: %w", err)}
		}
		list = append(list, ch)
	}
	if len(list) > 0 {
		return list, nil
	}
	given, err := settings.ParseEndpoints(cmd.RPC)
	if err != nil {
		return nil, err
	}
	for _, ch := range chain.All() {
		if len(given[ch.ID]) > 0 || len(given) == 0 && ch.ID == 1 {
			list = append(list, ch)
		}
	}
	return list, nil
}

// outside makes the checks that need requests: endpoints, traces, the clock and the key of
// Etherscan.
func (cmd *doctorCmd) outside(ctx context.Context, chains []*chain.Chain) (list []check) {
	cfg, err := cmd.UpstreamConfig()
	if err != nil {
		return []check{{"settings", stateFault, err.Error(), "correct the flag or its variable of the environment"}}
	}
	u, err := upstream.New(cfg)
	if err != nil {
		return []check{{"settings", stateFault, err.Error(), "correct the URL"}}
	}
	defer u.Close()
	var all []upstream.Inspection
	for _, ch := range chains {
		found := u.Inspect(ctx, ch)
		list = append(append(list, endpointChecks(ch, found)...), traceCheck(ch, found, u.TraceExplorer(ch)))
		all = append(all, found...)
	}
	list = append(list, clockCheck(all))
	if cfg.EtherscanKey != "" {
		list = append(list, etherscanCheck(u.CheckEtherscanKey(ctx, chains[0])))
	}
	return list
}

// maxAge is the age of the latest block beyond which an endpoint lags.
const maxAge = 10 * time.Minute

// endpointChecks has a line for each endpoint. One that was configured must work; of those
// of the table one is enough.
func endpointChecks(ch *chain.Chain, found []upstream.Inspection) (list []check) {
	usable := false
	for _, x := range found {
		usable = usable || x.Err == nil
	}
	if len(found) == 0 {
		return []check{{"endpoint " + ch.Slug, stateFault, "no endpoint is known", "add --rpc " + ch.Slug + "=URL, or leave out --rpc-only"}}
	}
	for _, x := range found {
		k := check{Name: "endpoint " + ch.Slug, State: stateGood}
		k.Detail = fmt.Sprintf("%s answers in %s; its latest block is %d", x.Host, x.Took.Round(time.Millisecond), x.Block)
		var fault *upstream.Error
		switch {
		case x.Err != nil:
			k.State, k.Detail = stateWarning, x.Host+": "+oneLine(x.Err.Error())
			if x.Given || !usable {
				k.State = stateFault
			}
			if errors.As(x.Err, &fault) {
				k.Advice = fault.Hint
			}
		case x.Age > maxAge:
			k.State, k.Advice = stateWarning, "the node lags behind the chain, or the clock of this machine is fast"
			k.Detail += fmt.Sprintf(", %s old", x.Age.Round(time.Minute))
		}
		list = append(list, k)
	}
	return list
}

// traceCheck names the source of call traces that an analysis would use: the first method in its
// order that an endpoint offers, else the explorer, else the re-execution here. explorer is empty
// if none is asked.
func traceCheck(ch *chain.Chain, found []upstream.Inspection, explorer string) check {
	k := check{Name: "traces " + ch.Slug, State: stateGood}
	best := -1
	for _, x := range found {
		for i, m := range x.Traces {
			if m.Support == upstream.Supported && (best < 0 || i < best) {
				best, k.Detail = i, m.Name+" of "+x.Host
			}
		}
	}
	if best >= 0 {
		return k
	}
	k.State, k.Advice = stateWarning, "add --rpc "+ch.Slug+"=URL of a node with the debug or trace API"
	sources := ""
	if explorer != "" {
		sources = "; raw traces of " + explorer + " are used, which this check does not ask"
	}
	switch unable := ch.Stack.Unreplayable() != ""; {
	case explorer == "" && unable:
		sources = "; results rest on receipts alone, since transactions of this chain cannot be executed again on this machine"
	case explorer == "":
		sources = "; transactions are executed again on this machine"
	case !unable:
		sources += "; where it has none, transactions are executed again on this machine"
	}
	k.Detail = "no endpoint gives call traces" + sources
	return k
}

// maxDrift is the largest accepted difference between the clock and those of the endpoints.
const maxDrift = 30 * time.Second

// clockCheck compares the clock with the endpoint that is nearest to it.
func clockCheck(found []upstream.Inspection) check {
	var nearest *upstream.Inspection
	for i := range found {
		if x := &found[i]; x.Dated && (nearest == nil || x.Ahead.Abs() < nearest.Ahead.Abs()) {
			nearest = x
		}
	}
	if nearest == nil {
		return check{"clock", stateWarning, "no endpoint told the time", ""}
	}
	k := check{Name: "clock", State: stateGood}
	k.Detail = fmt.Sprintf("%s from that of %s", nearest.Ahead.Abs().Truncate(time.Second), nearest.Host)
	if nearest.Ahead.Abs() > maxDrift {
		k.State, k.Advice = stateFault, "set the clock, for example with an NTP service: payments and prices depend on it"
	}
	return k
}

func etherscanCheck(err error) check {
	if err == nil {
		return check{"key of Etherscan", stateGood, "accepted", ""}
	}
	k := check{Name: "key of Etherscan", State: stateFault, Detail: oneLine(err.Error())}
	if fault, ok := errors.AsType[*upstream.Error](err); ok {
		k.Advice = fault.Hint
	}
	return k
}

// database checks whether a server could keep its data in the folder.
func (cmd *doctorCmd) database() check {
	dir, err := cmd.Folder()
	note := ""
	if err == nil {
		err = usable(dir)
	}
	if err == nil {
		note, err = inspectStore(context.Background(), stores.Location{Dir: dir})
	}
	if err != nil {
		return check{"database", stateFault, oneLine(err.Error()), "name a folder that this user can write to with --data"}
	}
	return check{"database", stateGood, dir + note, ""}
}

// provider checks whether the settings of the language model are complete. It sends no
// request, because that would cost money.
func (cmd *doctorCmd) provider() check {
	model, err := cmd.Agent()
	if err != nil {
		return check{"language model", stateFault, oneLine(err.Error()), "correct the flag, or leave out --provider"}
	}
	defer model.Close()
	switch {
	case model == nil:
		return check{"language model", stateGood, "none; rules alone explain", ""}
	case os.Getenv(settings.ProviderKeyEnv) == "" && cmd.ProviderKey == "":
		return check{"language model", stateGood, cmd.Provider + ", without a key", ""}
	}
	return check{"language model", stateGood, cmd.Provider + ", with a key that was not tried", ""}
}

func payerKey(path string) check {
	key, err := client.ReadKey(path)
	if err != nil {
		return check{"payer's key", stateFault, oneLine(err.Error()), "make one with txlens wallet new, or correct its mode"}
	}
	return check{"payer's key", stateGood, "of account " + key.Address().Hex(), ""}
}

func printChecks(c console, list []check, asJSON bool) error {
	if asJSON {
		if err := json.MarshalWrite(c.out, list); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.out)
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, k := range list {
		text := k.Detail
		if k.Advice != "" {
			text += "; " + k.Advice
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", strings.ToUpper(k.State), k.Name, text)
	}
	return w.Flush()
}
