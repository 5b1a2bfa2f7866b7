package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/client"
)

// dollars parses an amount of a flag.
func dollars(flag, text string) (tempo.Amount, error) {
	a, err := mpp.ParseTokens(text)
	if err == nil && a.IsZero() {
		err = errors.New("must be above 0")
	}
	if err != nil {
		return a, settings.InputError{Err: fmt.Errorf("%s: %w", flag, err)}
	}
	return a, nil
}

// buyFlags make explain buy the analysis.
type buyFlags struct {
	Server    string `common:"" name:"server"     placeholder:"URL"     env:"TXLENS_SERVER"     help:"Get the analysis from this server, and buy it if the server sells it, instead of making it here."`
	CallerKey string `name:"server-key-file" placeholder:"FILE" type:"path" env:"TXLENS_SERVER_KEY_FILE" help:"File with the key of a server that answers only callers with one, which only its owner may read. The variable TXLENS_SERVER_KEY can hold the key itself."`
	MaxCharge string `name:"max-charge" placeholder:"DOLLARS" env:"TXLENS_MAX_CHARGE" help:"The most that one analysis may cost; default what --max-deposit says."`
	Async     bool   `name:"async"                                                    help:"Buy a job and poll it, instead of reading a stream."`
	Run       string `name:"run"        placeholder:"ID"                              help:"Fetch this run, or with --async this job, which an earlier call lost."`
	Close     bool   `name:"close"                                                    help:"Close the channel at the end and get the rest of the deposit back; without it the next call goes on with it."`

	payerFlags `embed:""`
}

// serverKeyEnv holds the key of the server. It is not one of the settings, so that the key is not
// listed among them.
const serverKeyEnv = "TXLENS_SERVER_KEY"

// buyer buys analyses for explain.
type buyer struct {
	flags   *buyFlags
	con     console
	p       *progress
	c       *client.Client
	charged tempo.Amount // for answers that were received
}

func newBuyer(f *buyFlags, con console, p *progress) (*buyer, error) {
	options := f.options
	if f.KeyFile == "" {
		options = f.withoutKey // a server that sells nothing needs none
	}
	o, err := options(f.Server)
	if err != nil {
		return nil, err
	}
	if f.MaxCharge != "" {
		if o.Limits.MaxCharge, err = dollars("--max-charge", f.MaxCharge); err != nil {
			return nil, err
		}
	}
	if o.CallerKey, err = settings.Secret("--server-key-file", f.CallerKey, serverKeyEnv); err != nil {
		return nil, settings.InputError{Err: err}
	}
	o.OnMoney = p.money
	c, err := clientFor(o)
	if err != nil {
		return nil, err
	}
	return &buyer{flags: f, con: con, p: p, c: c}, nil
}

// Explain buys one analysis.
func (b *buyer) Explain(ctx context.Context, req api.Request, sink func(api.Event)) (*api.Result, error) {
	a, err := b.buy(ctx, req, sink)
	if a == nil {
		return nil, b.advise(ctx, err)
	}
	b.charged, _ = b.charged.Add(a.Charged)
	if a.Result == nil {
		return nil, errors.Join(errors.New("the server sent a report in place of the result"), err)
	}
	if a.Result.TxHash != req.TxHash && b.flags.Run != "" {
		return nil, fmt.Errorf("that run explains %s", oneLine(a.Result.TxHash))
	}
	if err != nil { // the result is complete; only the payment information is not
		fmt.Fprintln(b.con.err, "txlens:", line(err))
	}
	return a.Result, nil
}

// pollEvery is the time between two polls of a job that is bought, 0 for the usual; tests lower
// it.
var pollEvery time.Duration

func (b *buyer) buy(ctx context.Context, req api.Request, sink func(api.Event)) (*client.Answer, error) {
	jobs := func(s api.JobStatus) { b.p.note("job is " + string(s)) }
	switch {
	case b.flags.Run != "" && b.flags.Async:
		return b.c.Job(ctx, b.flags.Run, pollEvery, jobs)
	case b.flags.Run != "":
		return b.c.Recover(ctx, b.flags.Run)
	case b.flags.Async:
		return b.c.ExplainJob(ctx, req, pollEvery, jobs)
	}
	return b.c.Explain(ctx, req, sink)
}

// advise adds to an error how to get the analysis that was begun, and which flag allows
// more or is missing.
func (b *buyer) advise(ctx context.Context, err error) error {
	var lost *client.LostRun
	var job *client.LostJob
	var limit *client.LimitError
	if errors.Is(err, client.ErrNoKey) {
		return settings.InputError{Err: fmt.Errorf("%w; name one with --key-file, or make one with txlens wallet new", client.ErrNoKey)}
	}
	if status, is := errors.AsType[*client.StatusError](err); is && status.Status == http.StatusUnauthorized {
		return settings.InputError{Err: fmt.Errorf("the server does not accept the caller; name the file of a key that its operator gave you with --server-key-file, "+
			"or set %s", serverKeyEnv)}
	}
	what := err
	if errors.As(err, &lost) && errors.As(err, &limit) {
		what = lost.Err // nothing was lost: the client closed the connection
	}
	if ctx.Err() != nil {
		what = errors.New("stopped")
	}
	text := ""
	if errors.As(err, &limit) {
		text = "; --max-charge allows more"
		if limit.Limit == client.LimitDeposit {
			text = "; --max-deposit allows more"
		}
	}
	switch {
	case errors.As(err, &lost):
		text += "; --run " + lost.RequestID + " fetches this analysis if it went on"
	case errors.As(err, &job):
		text += "; --async --run " + job.JobID + " goes on with it"
	}
	if text == "" {
		return err
	}
	return advice{fmt.Errorf("%w%s", what, text), err}
}

// advice is an error with a text for the user.
type advice struct {
	said, cause error
}

func (a advice) Error() string { return a.said.Error() }
func (a advice) Unwrap() error { return a.cause }

// closeTime bounds the close of a channel after Ctrl-C; a second one ends it at once.
const closeTime = 60 * time.Second

// end closes the channel if the flags ask for it. Otherwise it prints what the channel
// holds and how to get it back.
func (b *buyer) end(ctx context.Context) error {
	defer b.c.Close()
	if b.flags.Close {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		refund, err := b.c.CloseChannel(ctx)
		switch {
		case errors.Is(err, client.ErrNoChannel):
			return nil
		case err != nil:
			return fmt.Errorf("%w; the channel is kept: %s closes it later", err, b.closing())
		}
		b.tell(
			fmt.Sprintf("charged $%s in all by this channel; $%s refunded", mpp.FormatTokens(refund.Captured), mpp.FormatTokens(refund.Refunded)),
		)
		return nil
	}
	left := tempo.Amount{}
	for _, ch := range b.c.Channels() {
		rest, _ := ch.Deposit.Sub(ch.Signed)
		left, _ = left.Add(rest)
	}
	signed := b.p.paid()
	if signed.IsZero() && left.IsZero() {
		return nil // nothing was paid
	}
	text := fmt.Sprintf("charged $%s", mpp.FormatTokens(b.charged))
	if signed.Cmp(b.charged) > 0 {
		text += fmt.Sprintf(", signed for $%s", mpp.FormatTokens(signed))
	}
	if !left.IsZero() {
		text += fmt.Sprintf("; $%s stay in the channel for the next time, %s gives them back", mpp.FormatTokens(left), b.closing())
	}
	b.tell(text)
	return nil
}

// closing returns the command line that closes the channel.
func (b *buyer) closing() string { return b.flags.command("close", b.flags.Server) }

func (b *buyer) tell(text string) {
	if !b.p.quiet {
		fmt.Fprintln(b.con.err, oneLine(text))
	}
}
