package trace

import "bytes"

var kinds = [...]struct {
	kind Kind
	name string
}{
	{Call, "CALL"}, {StaticCall, "STATICCALL"}, {DelegateCall, "DELEGATECALL"}, {CallCode, "CALLCODE"},
	{Create, "CREATE"}, {Create2, "CREATE2"}, {SelfDestruct, "SELFDESTRUCT"}, {SelfDestruct, "SUICIDE"},
}

// String returns the opcode's name, UNKNOWN for an unknown kind.
func (k Kind) String() string {
	for _, x := range kinds {
		if x.kind == k {
			return x.name
		}
	}
	return "UNKNOWN"
}

// kindOf parses an opcode's name in any case: zkSync writes "Call".
func kindOf(name []byte) Kind {
	for _, x := range kinds {
		if string(name) == x.name {
			return x.kind
		}
	}
	for _, x := range kinds {
		if bytes.EqualFold(name, []byte(x.name)) {
			return x.kind
		}
	}
	return Unknown
}

// Creates reports whether the frame runs init code.
func (k Kind) Creates() bool { return k == Create || k == Create2 }
