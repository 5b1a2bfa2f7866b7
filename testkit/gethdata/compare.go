package gethdata

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
)

// SameTrace compares two callTracer traces as JSON values and names the first
// place where they differ. logs is false when want was recorded without them. A
// log without index or position counts as having 0 there, as go-ethereum's own
// comparison has it: the older recordings leave them out.
func SameTrace(got, want []byte, logs bool) error {
	var a, b map[string]any
	if err := json.Unmarshal(got, &a); err != nil {
		return fmt.Errorf("read trace: %w", err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		return fmt.Errorf("read expected trace: %w", err)
	}
	return sameFrame("0", a, b, logs)
}

func sameFrame(path string, a, b map[string]any, logs bool) error {
	if la, lb := logsOf(a), logsOf(b); logs && !reflect.DeepEqual(la, lb) {
		return fmt.Errorf("frame %s: logs %.500v, want %.500v", path, la, lb)
	}
	ca, _ := a["calls"].([]any)
	cb, _ := b["calls"].([]any)
	if len(ca) != len(cb) {
		return fmt.Errorf("frame %s: %d calls, want %d", path, len(ca), len(cb))
	}
	for _, key := range fields(a, b) {
		if !reflect.DeepEqual(a[key], b[key]) {
			return fmt.Errorf("frame %s: %s is %.200v, want %.200v", path, key, a[key], b[key])
		}
	}
	for i := range ca {
		fa, _ := ca[i].(map[string]any)
		fb, _ := cb[i].(map[string]any)
		if err := sameFrame(path+"."+strconv.Itoa(i), fa, fb, logs); err != nil {
			return err
		}
	}
	return nil
}

// fields are the keys of both but logs and calls.
func fields(a, b map[string]any) []string {
	var out []string
	for _, m := range []map[string]any{a, b} {
		for k := range m {
			if k != "logs" && k != "calls" {
				out = append(out, k)
			}
		}
	}
	sort.Strings(out)
	return out
}

func logsOf(frame map[string]any) []any {
	list, _ := frame["logs"].([]any)
	for _, l := range list {
		m, _ := l.(map[string]any)
		for _, k := range []string{"index", "position"} {
			if m != nil && m[k] == nil {
				m[k] = "0x0"
			}
		}
	}
	return list
}
