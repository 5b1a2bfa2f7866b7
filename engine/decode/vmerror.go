package decode

import "strings"

// vmErrors turns the words of go-ethereum, of its parity-style tracer and of other
// clients into words for people. The first prefix that fits wins, so longer ones
// stand before shorter.
var vmErrors = []struct{ prefix, words string }{
	{"contract creation code storage out of gas", "ran out of gas storing the code of the new contract"},
	{"out of gas: out of memory", "ran out of gas: asked for more memory than any gas can pay"},
	{"out of gas", "ran out of gas"},
	{"out of storage", "ran out of gas storing the code of the new contract"},
	{"gas uint64 overflow", "asked for more gas than can be counted"},
	{"invalid opcode: invalid", "hit the INVALID instruction: a failed assertion of an old compiler, or a deliberate stop"},
	{"invalid opcode", "ran into bytes that are no instruction"},
	{"bad instruction", "ran into bytes that are no instruction"},
	{"invalid jump destination", "jumped to a place that is no jump target: a failed check of an old compiler, or broken code"},
	{"bad jump destination", "jumped to a place that is no jump target: a failed check of an old compiler, or broken code"},
	{"write protection", "tried to change state inside a read-only call"},
	{"mutable call in static context", "tried to change state inside a read-only call"},
	{"stack underflow", "took more from the stack than was on it"},
	{"stack limit reached", "put more on the stack than it holds"},
	{"out of stack", "put more on the stack than it holds"},
	{"max call depth exceeded", "exceeded the depth of 1,024 nested calls"},
	{"insufficient balance for transfer", "tried to send more than its balance"},
	{"contract address collision", "the address of the new contract is taken already"},
	{"max code size exceeded", "the code of the new contract is larger than allowed"},
	{"max initcode size exceeded", "the creation code is larger than allowed"},
	{"invalid code: must not begin with 0xef", "the code of the new contract begins with the reserved byte 0xef"},
	{"nonce uint64 overflow", "the nonce of the creator is at its limit"},
	{"return data out of bounds", "read beyond the data that a call returned"},
	{"builtin failed", "a precompiled contract refused its input"},
	{"execution reverted", "reverted without a reason"},
	{"reverted", "reverted without a reason"},
	{"revert", "reverted without a reason"},
}

// Explain says in words why the VM ended a frame; for a frame that reverted with
// data the Failure says it better. Unknown words come back cleaned and cut.
func Explain(vmErr string) string {
	if vmErr == "" {
		return ""
	}
	lower := strings.ToLower(vmErr)
	for _, e := range vmErrors {
		if strings.HasPrefix(lower, e.prefix) {
			return e.words
		}
	}
	return newValues().clean([]byte(vmErr))
}
