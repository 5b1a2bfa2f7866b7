// Package gethdata reads the tracer test data that comes with go-ethereum (folder
// eth/tracers/internal/tracetest/testdata of the module): real transactions with
// the state they ran on, re-executed here into what a node would answer. Only
// tests use it.
//
// What the recordings hold is true: transaction, parent hash, number, time, gas
// limit, producer, difficulty, base fee, and every account and slot the transaction
// touches. What they do not hold is filled in, and known to be so: the transaction
// stands at index 0, its logs count from 0, it is alone in its block, and the block
// hash is the hash of the header as far as it is known. PREVRANDAO and the blob base
// fee are those that go-ethereum's own tests use.
package gethdata
