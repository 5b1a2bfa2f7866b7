package upstream

import "strings"

// faultRow is one form in which nodes and gateways report an error. There is no standard:
// codes collide (-32000 means everything in geth), so texts decide before codes. What follows
// from a kind is in Kind.retryable and Client.failover: a passing fault is tried again at the
// same endpoint and then at the next; what the endpoint lacks, and what is in no row, is
// asked of the next one; a revert of eth_call is an answer.
type faultRow struct {
	by     string // who answers so
	code   int64  // of JSON-RPC; 0: any
	text   string // part of the message, lower case; "": the code alone decides
	kind   Kind
	source string // where it is published
}

// Places that document several rows.
const (
	eip1474    = "EIP-1474, error codes"
	jsonRPC    = "JSON-RPC 2.0, section 5.1"
	gethRPC    = "go-ethereum rpc/errors.go"
	gethTracer = "go-ethereum eth/tracers/api.go"
	gethState  = "go-ethereum eth/state_accessor.go"
	quicknode  = "quicknode.com/docs/ethereum/error-references"
	infura     = "docs.metamask.io/services/reference/ethereum/json-rpc-methods, errors"
	alchemy    = "docs.alchemy.com/reference/error-reference"
	chainstack = "docs.chainstack.com/reference/node-api-errors-reference"
	erpc       = "github.com/erpc/erpc"
	proxyd     = "ethereum-optimism/infra proxyd/backend.go"
)

// faultRows are tried in order; the first row that matches decides. Rows with a text stand
// before rows with only a code.
var faultRows = []faultRow{
	{"Infura", -32005, "exceeded project rate limit", KindRateLimited, "github.com/status-im/status-go/pull/4807"},
	{"Infura", -32005, "daily request count exceeded", KindRateLimited, infura},
	{"any gateway", 0, "rate limit", KindRateLimited, infura},
	{"any gateway", 0, "ratelimit", KindRateLimited, alchemy},
	{"any gateway", 0, "too many requests", KindRateLimited, "RFC 6585, section 4"},
	{"Chainstack", 0, "rps limit", KindRateLimited, chainstack},
	{"QuickNode", -32007, "request limit", KindRateLimited, quicknode},
	{"any gateway", 0, "request limit", KindRateLimited, quicknode},
	{"any gateway", 0, "limit exceeded", KindRateLimited, eip1474},
	{"Alchemy", 429, "capacity", KindRateLimited, alchemy},
	{"any gateway", 0, "capacity", KindRateLimited, alchemy},
	{"any gateway", 0, "throttl", KindRateLimited, alchemy},
	{"any gateway", 0, "per second", KindRateLimited, quicknode},
	{"Alchemy", 0, "exceeded its", KindRateLimited, alchemy},

	{"any gateway", 0, "payment required", KindPayment, "RFC 9110, section 15.5.3"},
	{"any gateway", 0, "quota", KindPayment, infura},
	{"QuickNode", 0, "credits", KindPayment, quicknode},
	{"any gateway", 0, "billing", KindPayment, alchemy},

	// A plan that gives up early has the method: the same call may be fast enough next time.
	{"dRPC", 30, "timeout on the free tier", KindServer, "github.com/enviodev/hyperindex/issues/715"},
	{"proxyd", -32010, "backend offline", KindServer, proxyd},
	{"proxyd", -32011, "no backend", KindServer, "github.com/okx/xlayer-erigon/issues/434"},
	{"proxyd", -32013, "backend returned an invalid response", KindServer, proxyd},
	{"proxyd", -32015, "gateway timeout", KindServer, proxyd},
	{"eRPC", 0, "upstream", KindServer, erpc + "/issues/275"},
	{"eRPC", 0, "not synced", KindServer, "github.com/subsquid/squid-sdk/pull/563"},
	{"any gateway", 19, "temporary internal error", KindServer, "github.com/subsquid/squid-sdk/pull/505"},
	{"any gateway", 0, "please retry", KindServer, "github.com/subsquid/squid-sdk/pull/505"},
	{"any gateway", 0, "try again", KindServer, chainstack},
	{"any gateway", 0, "temporarily unavailable", KindServer, chainstack},
	{"any gateway", 0, "service unavailable", KindServer, quicknode},
	{"any gateway", 0, "bad gateway", KindServer, chainstack},
	{"any gateway", 0, "no healthy", KindServer, "envoyproxy.io/docs, response flag UH"},
	{"any gateway", 0, "overloaded", KindServer, chainstack},
	{"any gateway", 0, "backend request failed", KindServer, chainstack},
	{"geth", 0, "indexing is in progress", KindServer, "go-ethereum internal/ethapi/errors.go"},

	{"geth", -32601, "does not exist/is not available", KindUnsupported, gethRPC},
	{"any node", 0, "method not found", KindUnsupported, jsonRPC},
	{"any node", 0, "unknown method", KindUnsupported, jsonRPC},
	{"any node", 0, "invalid method", KindUnsupported, jsonRPC},
	{"any gateway", 0, "unsupported method", KindUnsupported, eip1474},
	{"any gateway", 0, "not supported", KindUnsupported, eip1474},
	{"proxyd", 0, "not whitelisted", KindUnsupported, "github.com/ethereum-optimism/optimism/pull/10052"},
	{"any gateway", 0, "method is not available", KindUnsupported, chainstack},
	{"any gateway", 0, "method is not enabled", KindUnsupported, chainstack},
	{"any gateway", 0, "not available on", KindUnsupported, chainstack},
	{"any gateway", 0, "not allowed to access", KindUnsupported, quicknode},
	{"any gateway", 0, "current plan", KindUnsupported, chainstack},
	{"any gateway", 0, "your plan", KindUnsupported, chainstack},
	{"any gateway", 0, "paid plan", KindUnsupported, alchemy},
	{"dRPC", 0, "freetier", KindUnsupported, "github.com/enviodev/hyperindex/issues/715"},
	{"dRPC", 0, "free tier", KindUnsupported, "github.com/enviodev/hyperindex/issues/715"},
	{"any gateway", 0, "upgrade", KindUnsupported, alchemy},
	{"geth", 0, "tracer not found", KindUnsupported, gethTracer},
	{"geth", 0, "calltracer is not defined", KindUnsupported, gethTracer},
	{"geth", 0, "prestatetracer is not defined", KindUnsupported, gethTracer},
	{"Erigon, Nethermind", 0, "namespace", KindUnsupported, "docs.nethermind.io/interacting/json-rpc-server"},
	{"Nethermind", 0, "is disabled", KindUnsupported, "docs.nethermind.io/interacting/json-rpc-server"},

	{"any gateway", 0, "unauthorized", KindPayment, "RFC 9110, section 15.5.2"},
	{"Alchemy", 0, "unauthenticated", KindPayment, alchemy},
	{"Alchemy", 0, "must authenticate", KindPayment, alchemy},
	{"any gateway", 0, "api key", KindPayment, alchemy},
	{"any gateway", 0, "apikey", KindPayment, alchemy},

	{"geth", 0, "historical state", KindNoState, gethTracer},
	{"geth", 0, "missing trie node", KindNoState, gethState},
	{"geth", 0, "required historical state", KindNoState, gethState},
	{"Nethermind", 0, "no state available", KindNoState, "github.com/NethermindEth/nethermind, BlockchainBridge"},
	{"any node", 0, "state is not available", KindNoState, gethState},
	{"any node", 0, "state not available", KindNoState, gethState},
	{"geth", 4444, "pruned", KindNoState, "EIP-4444"},
	{"any node", 0, "pruned", KindNoState, "EIP-4444"},
	{"any node", 0, "pruning", KindNoState, gethState},
	{"any gateway", 0, "archive", KindNoState, chainstack},
	{"reth", 0, "proof window", KindNoState, "reth crates/rpc/rpc-eth-types/src/error"},
	{"geth", 0, "header not found", KindNoState, gethRPC},
	{"geth", 0, "state histories", KindNoState, "go-ethereum triedb/pathdb"},

	{"geth", 0, "transaction not found", KindNotFound, gethTracer},
	{"any node", 0, "no transaction", KindNotFound, gethTracer},
	{"Besu, Erigon", 0, "transaction with hash", KindNotFound, gethTracer},
	{"any node", 0, "unknown transaction", KindNotFound, gethTracer},

	{"geth", 0, "execution timeout", KindTimeout, gethTracer},
	{"geth", -32002, "timed out", KindTimeout, gethRPC},
	{"any node", 0, "timed out", KindTimeout, gethRPC},
	{"any node", 0, "timeout", KindTimeout, gethTracer},
	{"any node", 0, "deadline exceeded", KindTimeout, gethRPC},

	{"geth", -32003, "response too large", KindTooLarge, gethRPC},
	{"geth", -32600, "batch too large", KindTooLarge, gethRPC},
	{"any gateway", 0, "batch size", KindTooLarge, alchemy},
	{"any gateway", 0, "response too large", KindTooLarge, gethRPC},
	{"any gateway", 0, "response size", KindTooLarge, alchemy},
	{"any gateway", 0, "is too big", KindTooLarge, alchemy},
	{"any gateway", 0, "exceeded max response", KindTooLarge, alchemy},

	{"any node", -32601, "", KindUnsupported, jsonRPC},
	{"any node", -32603, "", KindServer, jsonRPC},
	{"any node", -32001, "", KindNotFound, eip1474},
	{"any node", -32002, "", KindNoState, eip1474},
	{"any node", -32004, "", KindUnsupported, eip1474},
	{"any node", -32005, "", KindRateLimited, eip1474},
	{"QuickNode", -32007, "", KindRateLimited, quicknode},
	{"QuickNode", -32009, "", KindRateLimited, quicknode},
	{"proxyd, QuickNode", -32011, "", KindServer, quicknode},
	{"Base", -32016, "", KindRateLimited, "github.com/rainlanguage/raindex/issues/1662"},
	{"eRPC", -32503, "", KindServer, "github.com/subsquid/squid-sdk/pull/563"},
	{"QuickNode", 429, "", KindRateLimited, quicknode},
}

// evmFailures are the errors of eth_call when the code ran and failed (go-ethereum
// core/vm/errors.go; "VM execution error" is OpenEthereum's, with code -32015).
var evmFailures = []string{
	"revert",
	"vm execution error",
	"out of gas",
	"gas required exceeds",
	"invalid opcode",
	"invalid jump",
	"stack underflow",
	"stack limit",
	"opcode 0x",
}

// revertCodes are the codes of eth_call for code that ran and failed: 3 of the execution API
// specification, -32015 of OpenEthereum.
var revertCodes = map[int64]bool{3: true, -32015: true}

// classify returns the kind of a JSON-RPC error. Only eth_call reverts; a node that says so
// of another method did not do what it was asked.
func classify(op string, f *rpcFault) Kind {
	text := strings.ToLower(f.message)
	call := op == methodCall
	if call && (f.code == 3 || strings.Contains(text, "execution reverted")) {
		return KindReverted
	}
	if row := faultRowOf(f.code, text, true); row != nil {
		return row.kind
	}
	if call && (containsAny(text, evmFailures) || revertCodes[f.code]) {
		return KindReverted
	}
	if row := faultRowOf(f.code, text, false); row != nil {
		return row.kind
	}
	return KindRejected
}

// faultRowOf returns the first row that matches: of those with a text, or of those without.
func faultRowOf(code int64, text string, withText bool) *faultRow {
	for i := range faultRows {
		r := &faultRows[i]
		if (r.text != "") == withText && (r.code == 0 || r.code == code) && strings.Contains(text, r.text) {
			return r
		}
	}
	return nil
}

func containsAny(text string, any []string) bool {
	for _, p := range any {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
