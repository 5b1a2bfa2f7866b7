package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// All is the method name of a fault that hits every method but the sandbox's own
// controls.
const All = "*"

// Fault is one way to fail. The first fault that fits a call is used, in the order in
// which they were injected; its members combine.
type Fault struct {
	Method string        // a JSON-RPC method; empty or All: every one
	Call   string        // only where this function of the reserve is called: open, settle, topUp, close, requestClose, withdraw
	Times  int           // calls to hit; 0: until cleared
	Delay  time.Duration // the answer is held back for so long; what was asked is done at once
	Lose   bool          // what was asked is done, but no answer comes
	Refuse *Error        // this error comes, and nothing is done
	Revert bool          // the transaction is mined and fails; a simulation fails
	Lag    int           // the answer is that of a replica so many blocks behind
}

// Bounds of what can be injected from outside.
const (
	maxFaults = 100
	maxDelay  = 10 * time.Minute
)

// faults holds what was injected and counts what was called.
type faults struct {
	faultsMu sync.Mutex
	injected []*Fault
	calls    map[string]int
}

// Inject adds a fault.
func (f *faults) Inject(fault Fault) error {
	if fault.Call != "" && !slices.Contains(slices.Collect(maps.Values(reserveNames)), fault.Call) {
		return fmt.Errorf("inject a fault: the reserve has no function %q", fault.Call)
	}
	if fault.Lag < 0 || fault.Times < 0 || fault.Delay < 0 || fault.Delay > maxDelay {
		return errors.New("inject a fault: lag, times or delay out of range")
	}
	f.faultsMu.Lock()
	defer f.faultsMu.Unlock()
	if len(f.injected) >= maxFaults {
		return errors.New("inject a fault: too many are set")
	}
	f.injected = append(f.injected, &fault)
	return nil
}

// ClearFaults makes everything answer well again.
func (f *faults) ClearFaults() {
	f.faultsMu.Lock()
	defer f.faultsMu.Unlock()
	f.injected = nil
}

// Calls is how often a method was called so far, also in vain; All gives the sum.
func (f *faults) Calls(method string) int {
	f.faultsMu.Lock()
	defer f.faultsMu.Unlock()
	if method != All {
		return f.calls[method]
	}
	sum := 0
	for _, n := range f.calls {
		sum += n
	}
	return sum
}

// maxMethods bounds the names that are counted; the rest is summed under one name.
const maxMethods = 200

// take counts a call and finds the fault for it, using it up by one.
func (f *faults) take(method string, functions []string) Fault {
	f.faultsMu.Lock()
	defer f.faultsMu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	if _, known := f.calls[method]; !known && len(f.calls) >= maxMethods {
		method = "other"
	}
	f.calls[method]++
	for i, fault := range f.injected {
		if !fault.fits(method, functions) {
			continue
		}
		hit := *fault
		if fault.Times > 0 {
			if fault.Times--; fault.Times == 0 {
				f.injected = slices.Delete(f.injected, i, i+1)
			}
		}
		return hit
	}
	return Fault{}
}

func (f *Fault) fits(method string, functions []string) bool {
	if f.Call != "" && !slices.Contains(functions, f.Call) {
		return false
	}
	if f.Method == "" || f.Method == All {
		return !isControl(method)
	}
	return f.Method == method
}

// isControl reports whether a method steers the sandbox.
func isControl(method string) bool {
	return strings.HasPrefix(method, "sandbox_") || strings.HasPrefix(method, "evm_")
}

// reserveNames are the functions that a fault can be about.
var reserveNames = func() map[selector]string {
	out := map[selector]string{}
	for _, signature := range []string{
		openSignature, settleSignature, topUpSignature, closeSignature, requestCloseSignature, withdrawSignature,
	} {
		name, _, _ := strings.Cut(signature, "(")
		out[selectorOf(signature)] = name
	}
	return out
}()

// functionsOf names the functions of the reserve that calls use.
func functionsOf(calls []Call) (names []string) {
	for _, call := range calls {
		if call.To == Reserve && len(call.Data) >= 4 {
			if name, known := reserveNames[selector(call.Data)]; known {
				names = append(names, name)
			}
		}
	}
	return names
}

// faultJSON is a fault as sandbox_inject takes it.
type faultJSON struct {
	Method  string `json:"method"`
	Call    string `json:"call"`
	Times   int    `json:"times"`
	DelayMs int64  `json:"delayMs"`
	Lose    bool   `json:"lose"`
	Refuse  *Error `json:"refuse"`
	Revert  bool   `json:"revert"`
	Lag     int    `json:"lag"`
}

// UnmarshalJSON reads the form of sandbox_inject; an unknown member is an error,
// since a fault that does less than its author thinks makes a test pass for nothing.
func (f *Fault) UnmarshalJSON(text []byte) error {
	var in faultJSON
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	if in.DelayMs < 0 || in.DelayMs > maxDelay.Milliseconds() {
		return errors.New("delayMs out of range")
	}
	*f = Fault{in.Method, in.Call, in.Times, time.Duration(in.DelayMs) * time.Millisecond, in.Lose, in.Refuse, in.Revert, in.Lag}
	return nil
}
