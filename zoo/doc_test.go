// Package zoo holds tests alone: it performs transactions of every kind on a real
// chain and asks the program what they were.
//
// The chain is go-ethereum's own node, in this process, with all forks up to Osaka
// from its first block and the id of Ethereum, so that contracts can stand where the
// program expects them. What stands there is what its makers published on npm, built
// by running its constructor at its address (genesis_test.go); contracts of our own
// are compiled from contracts/.
//
// A specimen is one transaction and what is true of it. Its script gets a world that
// begins, for every specimen anew, after the blocks of the set-up (see base): they run
// in any order and one by one. A script mines blocks of the transactions that it
// names, in the order it names them, and returns the one to explain. The way from
// there is the program's: its client asks the node over HTTP, and the actors gather,
// classify and assemble.
//
// What the program says of movements is held against the node, too: see balances.
//
// Honest flash loans are specimens of their own (flashloans_test.go): an executor
// performs a plan of calls during a loan of Aave, Balancer, Uniswap or ERC-3156. The
// rules must call none of them an exploit, and the node confirms that the loan was
// taken and that the lender lost nothing. The test prints what the program does not
// see yet, and fails once it does and the specimen still says otherwise.
//
// The packages are pinned by package-lock.json. Where "npm ci" was not run in this
// folder the tests are skipped, or with TXLENS_REQUIRE_NODE=1 fail.
package zoo
