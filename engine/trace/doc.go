// Package trace holds the call frames of one transaction, from whichever source
// gave them: debug_traceTransaction (callTracer withLog), trace_transaction
// (parity) and the sources that give the same list, ots_traceTransaction, local
// re-execution, or the receipt alone. It gives each frame its
// status, says where a revert began, joins logs with the receipt, and compresses
// pathological traces while they stream in, so that memory follows the frames kept.
package trace
