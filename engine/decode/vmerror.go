package decode

import "strings"

// vmErrors tells the errors of go-ethereum, of its parity-style tracer and of other
// clients in the words of the first, which people search for, with an explanation after
// them. The first prefix that fits wins, so longer ones stand before shorter.
var vmErrors = []struct{ prefix, words string }{
	{"contract creation code storage out of gas", "out of gas while storing the code of the new contract"},
	{"out of gas: out of memory", "out of gas: more memory requested than any gas can pay for"},
	{"out of gas", "out of gas"},
	{"out of storage", "out of gas while storing the code of the new contract"},
	{"gas uint64 overflow", "gas uint64 overflow: more gas requested than can be counted"},
	{"invalid opcode: invalid", "invalid opcode (INVALID): a failed assertion of an old compiler, or a deliberate stop"},
	{"invalid opcode", "invalid opcode"},
	{"bad instruction", "invalid opcode"},
	{"invalid jump destination", "invalid jump destination: a failed check of an old compiler, or broken code"},
	{"bad jump destination", "invalid jump destination: a failed check of an old compiler, or broken code"},
	{"write protection", "write protection: state change inside a read-only call"},
	{"mutable call in static context", "write protection: state change inside a read-only call"},
	{"stack underflow", "stack underflow"},
	{"stack limit reached", "stack overflow"},
	{"out of stack", "stack overflow"},
	{"max call depth exceeded", "max call depth exceeded: more than 1,024 nested calls"},
	{"insufficient balance for transfer", "insufficient balance for transfer"},
	{"contract address collision", "contract address collision: the address of the new contract is taken"},
	{"max code size exceeded", "max code size exceeded: the code of the new contract is larger than allowed"},
	{"max initcode size exceeded", "max initcode size exceeded: the creation code is larger than allowed"},
	{"invalid code: must not begin with 0xef", "invalid code: the code of the new contract begins with the reserved byte 0xef"},
	{"nonce uint64 overflow", "nonce overflow: the nonce of the creator is at its limit"},
	{"return data out of bounds", "return data out of bounds"},
	{"builtin failed", "a precompiled contract rejected its input"},
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
