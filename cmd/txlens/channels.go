package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/transport/admin"

	"github.com/go-json-experiment/json"
)

type channelsCmd struct {
	Channel string `arg:"" optional:"" placeholder:"CHANNEL" help:"Show all of one channel: its id, or the beginning of it."`
	Ended   bool   `                                         help:"List those that are closed."                               name:"ended"`
	Limit   int    `                                         help:"Channels to list at most; 0: all."                         name:"limit" default:"100"`
	From    string `                   placeholder:"CHANNEL" help:"Begin the list here: an id, or the beginning of one."      name:"from"`
	JSON    bool   `                                         help:"One line of JSON for each channel; amounts in base units." name:"json"`

	serverFlag `embed:""`
}

// Run lists channels, or shows one.
func (cmd *channelsCmd) Run(ctx context.Context, c console) error {
	at, err := cmd.base()
	if err != nil {
		return err
	}
	if cmd.Limit < 0 {
		return settings.InputError{Err: errors.New("--limit: must not be negative")}
	}
	if cmd.Channel != "" {
		ch, err := findChannel(ctx, at, cmd.Channel)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return writeLine(c.out, ch)
		}
		return showChannel(c.out, ch)
	}
	var from common.Hash
	if cmd.From != "" {
		if from, _, err = channelRange(cmd.From); err != nil {
			return settings.InputError{Err: fmt.Errorf("--from: %w", err)}
		}
	}
	list, next, err := cmd.list(ctx, at, from)
	if err != nil {
		return err
	}
	if next != nil {
		defer fmt.Fprintf(c.err, "There are more; go on with --from %s, or see all with --limit 0.\n", next.Hex())
	}
	if !cmd.JSON {
		return printChannels(c.out, list, cmd.Ended)
	}
	for _, ch := range list {
		if err := writeLine(c.out, ch); err != nil {
			return err
		}
	}
	return nil
}

// list fetches pages until the limit is reached; next is the start of the following page.
func (cmd *channelsCmd) list(
	ctx context.Context, at app.AdminAccess, from common.Hash,
) (list []admin.Channel, next *common.Hash, err error) {
	for next = &from; next != nil && (cmd.Limit == 0 || len(list) < cmd.Limit); {
		n := admin.MaxPage
		if cmd.Limit > 0 {
			n = min(n, cmd.Limit-len(list))
		}
		page, err := channelPage(ctx, at, *next, n, cmd.Ended)
		if err != nil {
			return nil, nil, err
		}
		list, next = append(list, page.Channels...), page.Next
	}
	return list, next, nil
}

func channelPage(ctx context.Context, at app.AdminAccess, from common.Hash, limit int, ended bool) (page admin.ChannelPage, err error) {
	q := url.Values{"from": {from.Hex()}, "limit": {strconv.Itoa(limit)}}
	if ended {
		q.Set("ended", "1")
	}
	err = readAdmin(ctx, at, question{path: "/channels?" + q.Encode(), all: time.Minute}, &page)
	return page, err
}

// channelRange returns the smallest id that begins with text, and the beginning in full.
func channelRange(text string) (from common.Hash, prefix string, err error) {
	prefix = strings.ToLower(text)
	digits, ok := strings.CutPrefix(prefix, "0x")
	if !ok || len(digits) < 4 || len(digits) > 64 {
		return from, "", fmt.Errorf("%q is no channel: want 0x and 4 to 64 hex digits of its id", text)
	}
	if err := from.UnmarshalText([]byte("0x" + digits + strings.Repeat("0", 64-len(digits)))); err != nil {
		return from, "", fmt.Errorf("%q is no channel: want 0x and 4 to 64 hex digits of its id", text)
	}
	return from, prefix, nil
}

// findChannel looks for the one channel whose id begins with text, open ones first.
func findChannel(ctx context.Context, at app.AdminAccess, text string) (ch admin.Channel, err error) {
	from, prefix, err := channelRange(text)
	if err != nil {
		return ch, settings.InputError{Err: err}
	}
	for _, ended := range []bool{false, true} {
		page, err := channelPage(ctx, at, from, 2, ended)
		if err != nil {
			return ch, err
		}
		var fits []admin.Channel
		for _, ch := range page.Channels {
			if strings.HasPrefix(ch.ID.Hex(), prefix) {
				fits = append(fits, ch)
			}
		}
		switch len(fits) {
		case 1:
			return fits[0], nil
		case 2:
			return ch, settings.InputError{Err: fmt.Errorf("more than one channel begins with %s; give more of its id", text)}
		}
	}
	return ch, settings.InputError{Err: fmt.Errorf("the server knows no channel %s", text)}
}

func writeLine(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// shortID abbreviates an id to a beginning that is almost always unique.
func shortID(id common.Hash) string { return id.Hex()[:10] }

// printChannels writes the table and its totals.
func printChannels(w io.Writer, list []admin.Channel, ended bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "No channel is %s.\n", map[bool]string{true: "closed", false: "open"}[ended])
		return err
	}
	rows := [][]string{{"CHANNEL", "PAYER", "STATE", "DEPOSIT", "ACCEPTED", "SPENT", "SETTLED", "UNSETTLED", "ACTIVE"}}
	var spent, settled, unsettled, above, lost tempo.Amount
	now := time.Now()
	for _, ch := range list {
		rows = append(rows, []string{
			shortID(ch.ID), api.AddrOf(ch.Payer).Short(), stateOf(ch), mpp.FormatTokens(ch.Deposit), mpp.FormatTokens(ch.Accepted),
			mpp.FormatTokens(ch.Spent), mpp.FormatTokens(ch.Settled), mpp.FormatTokens(ch.Unsettled), ago(now, ch.ActiveAt),
		})
		spent, settled, unsettled, lost = plus(spent, ch.Spent), plus(settled, ch.Settled), plus(unsettled, ch.Unsettled), plus(lost, ch.Lost)
		if ch.Obstacle == string(session.VoucherAbove) {
			left, _ := ch.Unsettled.Sub(ch.Payable)
			above = plus(above, left)
		}
	}
	if err := writeTable(w, rows, "   rrrrr"); err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(
		&text,
		"\n%s: %s spent, %s settled, %s unsettled",
		api.Count(len(list), "channel"),
		mpp.FormatTokens(spent),
		mpp.FormatTokens(settled),
		mpp.FormatTokens(unsettled),
	)
	if !lost.IsZero() {
		fmt.Fprintf(&text, ", %s lost", mpp.FormatTokens(lost))
	}
	text.WriteString(".\n")
	if !above.IsZero() {
		fmt.Fprintf(&text, "%s of that only closing can take: it is signed for by vouchers above what was served.\n", mpp.FormatTokens(above))
	}
	text.WriteString(totalsByToken(list))
	_, err := io.WriteString(w, text.String())
	return err
}

// totalsByToken has a line for each token if the channels are in several.
func totalsByToken(list []admin.Channel) string {
	type sums struct{ settled, unsettled tempo.Amount }
	totals := make(map[string]sums)
	for _, ch := range list {
		t := totals[ch.Token.Hex()]
		totals[ch.Token.Hex()] = sums{plus(t.settled, ch.Settled), plus(t.unsettled, ch.Unsettled)}
	}
	if len(totals) < 2 {
		return ""
	}
	var text strings.Builder
	for _, token := range slices.Sorted(maps.Keys(totals)) {
		t := totals[token]
		fmt.Fprintf(&text, "Token %s: %s settled, %s unsettled.\n", token, mpp.FormatTokens(t.settled), mpp.FormatTokens(t.unsettled))
	}
	return text.String()
}

func plus(a, b tempo.Amount) tempo.Amount {
	sum, ok := a.Add(b)
	if !ok {
		return tempo.MaxAmount
	}
	return sum
}

func stateOf(ch admin.Channel) string {
	if ch.CloseRequestedAt != nil && ch.State == session.Active.String() {
		return ch.State + ", close requested"
	}
	return ch.State
}

// ago formats a time relative to now.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/(24*time.Hour))
}

// writeTable pads cells to columns; an r in align sets that column to the right.
func writeTable(w io.Writer, rows [][]string, align string) error {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := width[i]
			if i >= len(align) || align[i] != 'r' {
				pad = -pad
			}
			fmt.Fprintf(&line, "%*s  ", pad, cell)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// showChannel writes all details of one channel.
func showChannel(w io.Writer, ch admin.Channel) error {
	var rows [][]string
	put := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	when := func(t time.Time) string {
		return t.Format(time.DateTime) + " UTC, " + ago(time.Now(), t)
	}
	put("Channel", "%s", ch.ID.Hex())
	put("State", "%s", stateOf(ch))
	put("Payer", "%s", ch.Payer.Hex())
	if ch.Signer != ch.Payer {
		put("Signer", "%s", ch.Signer.Hex())
	}
	put("Payee", "%s", ch.Payee.Hex())
	if ch.Operator != (common.Address{}) {
		put("Operator", "%s", ch.Operator.Hex())
	}
	put("Token", "%s", ch.Token.Hex())
	put("Deposit", "%s", mpp.FormatTokens(ch.Deposit))
	put("Accepted", "%s, the highest voucher", mpp.FormatTokens(ch.Accepted))
	put("Spent", "%s in %s", mpp.FormatTokens(ch.Spent), api.Count(int(ch.Charges), "charge"))
	put("Settled", "%s", mpp.FormatTokens(ch.Settled))
	put("Unsettled", "%s%s", mpp.FormatTokens(ch.Unsettled), outlook(ch))
	if !ch.Excess.IsZero() {
		put("Excess", "%s, paid out and not served: the payer rejects its refund", mpp.FormatTokens(ch.Excess))
	}
	if !ch.Lost.IsZero() {
		put("Lost", "%s, served and not paid out when the channel ended", mpp.FormatTokens(ch.Lost))
	}
	put("Opened", "%s", when(ch.CreatedAt))
	if ch.OpenTx != nil {
		put("", "%s", ch.OpenTx.Hex())
	}
	put("Active", "%s", when(ch.ActiveAt))
	if ch.CloseRequestedAt != nil {
		put("Close", "asked for by the payer %s", when(*ch.CloseRequestedAt))
	}
	if ch.CloseTx != nil {
		put("Closed", "%s", ch.CloseTx.Hex())
	}
	return writeTable(w, rows, "")
}

// outlook explains how the amount that is not paid out can be settled.
func outlook(ch admin.Channel) string {
	left, _ := ch.Unsettled.Sub(ch.Payable)
	switch {
	case ch.Unsettled.IsZero():
		return ""
	case ch.Obstacle == string(session.VoucherAbove) && ch.Payable.IsZero():
		return "; only closing can take it: the one voucher for it is above what was served"
	case ch.Obstacle == string(session.VoucherAbove):
		return fmt.Sprintf(
			"; settling pays out %s, only closing the other %s: the one voucher for it is above what was served",
			mpp.FormatTokens(ch.Payable),
			mpp.FormatTokens(left),
		)
	case ch.Obstacle == string(session.BeingClosed):
		return "; its payout is on the way"
	}
	return "; settling pays it out"
}
