package tool

import (
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/testkit/recorded"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	manyLogs = "0x216b67f3ad43ca4a2e64fc7a7d29643a19a4c460ad771f21a1483a23205ec45d" // 10,001 logs
	aTrade   = "0x80ce0c71a4cf6c60f3a7e467bdaa6537348d42b6d6349aec7ecf023e1622e18e" // 16 logs, mainnet 21688509
	aFailure = "0x43aa760b81b1e7862bfa1d06749d055699f3c02b15a2485435785a22950cc8b8"
)

// TestEveryAnswerFits: on every recorded transaction the largest pages of the tools
// that read the evidence are whole JSON within the bound, and pages lead on to the end.
func TestEveryAnswerFits(t *testing.T) {
	largest, asked := 0, 0
	inputs := map[string]string{
		"get_subtree": `{"levels":20,"limit":100`, "get_logs": `{"limit":100`, "get_state_diff": `{"limit":150`, "get_balances": `{"addresses":[]`,
		"get_frame": `{"frame":"0"`, "decode_calldata": `{"frame":"0","limit":100`,
	}
	for ev := range recorded.Sample(t) {
		d := &Env{Case: assemble.Build(ev)}
		for name, input := range inputs {
			for offset := 0; ; {
				in := input + `}`
				if offset > 0 {
					in = input + `,"offset":` + itoa(offset) + `}`
				}
				answer, err := tool(t, name).Run(t.Context(), d, jsontext.Value(in))
				if err != nil {
					t.Fatalf("%s %s %s: %v", ev.TxHash, name, in, err)
				}
				text := Mark(answer)
				asked, largest = asked+1, max(largest, len(text))
				if strings.HasSuffix(text, markCut+markClose) {
					t.Fatalf("%s %s %s: cut", ev.TxHash, name, in)
				}
				next := pageIn(answer).Next
				if next == nil {
					break
				}
				if *next <= offset {
					t.Fatalf("%s %s: page after %d is %d", ev.TxHash, name, offset, *next)
				}
				// Of the transaction of ten thousand logs a few pages will do.
				if offset = *next; offset > 600 {
					break
				}
			}
		}
	}
	t.Logf("%d answers, the largest of %d bytes", asked, largest)
}

func itoa(n int) string { return decimal(bigInt(n)) }

func pageIn(answer any) Page {
	switch v := answer.(type) {
	case SubtreeView:
		return v.Page
	case LogsView:
		return v.Page
	case DiffView:
		return v.Page
	case BalancesView:
		return v.Page
	case CalldataView:
		return v.Page
	}
	return Page{}
}

// TestFrames: a frame, its arguments and its subtree are those of the result.
func TestFrames(t *testing.T) {
	d := found(t, aTrade, nil)
	root := as[FrameView](t, called(t, d, "get_frame", `{"frame":"0"}`))
	n := d.Case.Result.PrettyTrace[0]
	if root.Function != n.FunctionName || root.From.Address != n.From || root.Status != n.Status || root.Calls != len(d.Case.Tree.Root.Children) {
		t.Errorf("%+v", root)
	}
	all := as[SubtreeView](t, called(t, d, "get_subtree", `{"levels":20,"limit":100}`))
	if all.Total != len(d.Case.Tree.Frames) || all.Rows[0].Frame != "0" || all.Rows[1].Frame != "0.0" {
		t.Errorf("%d of %d frames", all.Total, len(d.Case.Tree.Frames))
	}
	logs := 0
	for _, r := range all.Rows {
		f := as[FrameView](t, called(t, d, "get_frame", `{"frame":"`+r.Frame+`"}`))
		below := as[SubtreeView](t, called(t, d, "get_subtree", `{"frame":"`+r.Frame+`","levels":1,"limit":100}`))
		if f.Frame != r.Frame || d.Case.Result.PrettyTrace[f.NodeIndex].Path != r.Frame || below.Total != 1+r.Calls {
			t.Errorf("%s: %+v, %d below", r.Frame, f.FrameRow, below.Total)
		}
		logs += len(f.Logs)
		for _, l := range f.Logs {
			if l.Frame != r.Frame || l.Event == "" && len(l.Topics) == 0 {
				t.Errorf("%s: log %+v", r.Frame, l)
			}
		}
	}
	if logs != len(d.Case.Receipt.Logs) {
		t.Errorf("frames have %d logs, the receipt %d", logs, len(d.Case.Receipt.Logs))
	}
	if got := called(t, d, "get_frame", `{"frame":"0.0.99"}`); got != "error: there is no frame 0.0.99: see get_subtree of 0.0 for those that are" {
		t.Error(got)
	}
}

// TestFailedFrame: the reason stands where the failure began.
func TestFailedFrame(t *testing.T) {
	d := found(t, aFailure, nil)
	at := d.Case.Tree.RevertOrigin().Path()
	f := as[FrameView](t, called(t, d, "get_frame", `{"frame":"`+at+`"}`))
	if f.Status != "failed" || f.Failure == nil || f.Failure.Words == "" || f.Error == "" {
		t.Errorf("%s: %+v", at, f)
	}
}

// TestCalldata: words are those behind the selector, the last may be short.
func TestCalldata(t *testing.T) {
	d := found(t, aTrade, nil)
	input := d.tx().Input
	v := as[CalldataView](t, called(t, d, "decode_calldata", `{"frame":"0","offset":1,"limit":2}`))
	if v.Bytes != len(input) || v.Total != (len(input)-4+31)/32 || len(v.Words) != 2 || v.Words[0].Word != 1 || string(v.Words[0].Value) != string(input[36:68]) || v.Next == nil || *v.Next != 3 {
		t.Errorf("%+v", v)
	}
}

// TestLogs: each filter keeps what it names.
func TestLogs(t *testing.T) {
	d := found(t, aTrade, nil)
	all := as[LogsView](t, called(t, d, "get_logs", `{"limit":100}`)).Logs
	if len(all) != len(d.Case.Receipt.Logs) || all[0].LogIndex != d.Case.Receipt.Logs[0].Index || all[0].Frame == "" {
		t.Fatalf("%d logs, first %+v", len(all), all[0])
	}
	f := func(input string, keep func(LogRow) bool) {
		t.Helper()
		want := 0
		for _, l := range all {
			if keep(l) {
				want++
			}
		}
		got := as[LogsView](t, called(t, d, "get_logs", input))
		if got.Total != want || want == 0 {
			t.Errorf("%s: %d, want %d", input, got.Total, want)
		}
		for _, l := range got.Logs {
			if !keep(l) {
				t.Errorf("%s: %+v", input, l)
			}
		}
	}
	f(`{"event":"transfer"}`, func(l LogRow) bool { return l.Event == "Transfer" })
	f(`{"address":"`+all[0].Emitter.Address.String()+`"}`, func(l LogRow) bool { return l.Emitter.Address == all[0].Emitter.Address })
	f(`{"from":`+itoa(int(all[2].LogIndex))+`,"to":`+itoa(int(all[3].LogIndex))+`}`, func(l LogRow) bool {
		return l.LogIndex == all[2].LogIndex || l.LogIndex == all[3].LogIndex
	})
	topic := d.Case.Receipt.Logs[0].Topics[1]
	got := as[LogsView](t, called(t, d, "get_logs", `{"topic":"`+topic.Hex()+`"}`))
	if got.Total == 0 || got.Total == len(all) {
		t.Errorf("by topic: %d of %d", got.Total, len(all))
	}
	d.Case.Evidence.Receipt = nil
	if s := called(t, d, "get_logs", `{}`); !strings.Contains(s, `"unavailable"`) {
		t.Error(s)
	}
}

// TestManyLogs: the pages of ten thousand logs are as large as any other.
func TestManyLogs(t *testing.T) {
	d := found(t, manyLogs, nil)
	v := as[LogsView](t, called(t, d, "get_logs", `{"limit":100,"offset":9950}`))
	if v.Total != 10001 || len(v.Logs) != 51 && v.Next == nil {
		t.Errorf("%+v, %d logs", v.Page, len(v.Logs))
	}
}

// TestStateDiff: rows are before and after by account, and zero where one side is silent.
func TestStateDiff(t *testing.T) {
	d := found(t, aTrade, nil)
	from := d.tx().From
	v := as[DiffView](t, called(t, d, "get_state_diff", `{"address":"`+from.Hex()+`"}`))
	what := map[string]DiffRow{}
	for _, r := range v.Changes {
		what[r.What] = r
	}
	pre, post := d.Case.Evidence.Diff.Pre[from], d.Case.Evidence.Diff.Post[from]
	if what["balance"].Before != pre.Balance.String() || what["balance"].After != post.Balance.String() || what["nonce"].After != itoa(int(*post.Nonce)) {
		t.Errorf("%+v", v)
	}
	all := as[DiffView](t, called(t, d, "get_state_diff", `{"limit":150}`))
	slots := 0
	for _, r := range all.Changes {
		if r.What == "slot" {
			slots++
			if r.Before == r.After {
				t.Errorf("no change: %+v", r)
			}
		}
	}
	if slots == 0 {
		t.Error("no slot changed")
	}
	d.Case.Evidence.Diff = nil
	if s := called(t, d, "get_state_diff", `{}`); !strings.Contains(s, `"unavailable":"the node gave no state diff`) {
		t.Error(s)
	}
}
