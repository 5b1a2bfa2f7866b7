package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// twinSpecimens look like exploits, some of them of contracts that have the flaw, and
// take nothing that is not theirs.
var twinSpecimens = []specimen{
	{
		name: "reentrancy twin: who comes back only loses",
		script: func(w *world) common.Hash {
			vault := etherVault(w, "PayFirstVault")
			bot := w.deploy(who("carol"), compiled(w.tb, "Redepositor"), vault.addr)
			w.name("bot", bot.addr)
			return w.pay(who("carol"), ether("1"), bot, "run")
		},
		want: truth{txType: api.TypeOther, subType: "payment", moves: []string{"carol -1 ETH", "vault +0.5 ETH", "bot +0.5 ETH"}},
	},
	{
		name:   "read-only reentrancy twin: read in between, and no more lent than is right",
		script: func(w *world) common.Hash { return borrowOnShares(w, "carol", "75", true) },
		want:   truth{txType: api.TypeOther, subType: "contract_call", moves: []string{"lender -75 sETH +100 ZSH"}},
	},
	{
		name: "price manipulation twin: a small loan at a lender that believes a pair",
		script: func(w *world) common.Hash {
			return flashTrade(w, flashCase{who: "carol", lender: "SpotLender", own: "1500", borrowed: "2000", pledged: "1900", loaned: "1300"})
		},
		want: truth{
			txType: api.TypeOther, subType: "receive",
			moves: []string{"lender -1300 USDC +1900 TOK"}, flags: []string{"flash_loan"},
		},
	},
	{
		name: "first depositor twin: a gift that nobody else's deposit follows",
		script: func(w *world) common.Hash {
			by, token := who("deployer"), w.token("TOK", 18)
			vault := w.deploy(by, compiled(w.tb, "NaiveVault"), token.addr)
			queue := w.deploy(by, compiled(w.tb, "DepositQueue"), vault.addr, token.addr)
			bot := w.deploy(who("mallory"), compiled(w.tb, "Depositor"))
			w.call(by, token, "mint", bot.addr, ether("30"))
			return w.call(who("mallory"), bot, "run", vault.addr, token.addr, queue.addr, ether("10"), ether("20"))
		},
		want: truth{txType: api.TypeOther, subType: "vault_withdraw", moves: []string{"mallory +30 TOK"}},
	},
	{
		name: "access control twin: who was named takes the box over and empties it",
		script: func(w *world) common.Hash {
			mover := w.deploy(who("bob"), compiled(w.tb, "BoxMover"))
			box, token := safeBox(w, "TwoStepSafeBox")
			w.call(who("deployer"), box, "transferOwnership", mover.addr)
			return w.call(who("bob"), mover, "takeAndEmpty", box.addr, token.addr)
		},
		want: truth{
			txType: api.TypeOther, subType: "receive",
			moves: []string{"bob +1000 TOK", "box -1000 TOK"}, flags: []string{"owner_changed", "drain"},
		},
	},
	{
		name: "arbitrary call twin: only its owner may have a collector call in what customers owe",
		script: func(w *world) common.Hash {
			token := w.token("TOK", 18)
			collector := w.deploy(who("keeper"), compiled(w.tb, "Collector"))
			w.call(who("deployer"), token, "mint", who("alice").addr, ether("700"))
			w.call(who("alice"), token, "approve", collector.addr, maxUint)
			debt := token.pack(w.tb, "transferFrom", who("alice").addr, who("keeper").addr, ether("70"))
			return w.call(who("keeper"), collector, "collect", token.addr, debt)
		},
		want: truth{txType: api.TypeOther, subType: "receive", moves: []string{"alice -70 TOK", "keeper +70 TOK"}},
	},
	{
		name: "arbitrary call twin: who approved the router has it pay a friend",
		script: func(w *world) common.Hash {
			token := w.token("TOK", 18)
			router := w.deploy(who("deployer"), compiled(w.tb, "FreeRouter"))
			w.call(who("deployer"), token, "mint", who("alice").addr, ether("700"))
			w.call(who("alice"), token, "approve", router.addr, maxUint)
			caller := w.deploy(who("alice"), compiled(w.tb, "RouteCaller"))
			gift := token.pack(w.tb, "transferFrom", who("alice").addr, who("bob").addr, ether("700"))
			return w.call(who("alice"), caller, "run", router.addr, token.addr, new(big.Int), common.Address{}, token.addr, gift)
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -700 TOK", "bob +700 TOK"}},
	},
	{
		name: "unchecked signature twin: the right one, at a vault that would take none",
		script: func(w *world) common.Hash {
			vault, alice := keyVault(w, "ZeroKeyVault"), who("alice")
			w.call(alice, vault, "setKey", who("erin").addr)
			v, r, s := release(w, vault, who("erin"), alice.addr, who("relayer").addr)
			return w.call(who("relayer"), vault, "release", alice.addr, who("relayer").addr, ether("400"), v, r, s)
		},
		want: truth{txType: api.TypeOther, subType: "receive", moves: []string{"relayer +400 TOK", "vault -400 TOK"}},
	},
	{
		name: "triage of a sound vault says what was looked at",
		script: func(w *world) common.Hash {
			return reenter(w, "ForgetFirstVault")
		},
		context: "Was this an exploit? Please triage it.",
		want: truth{
			txType: api.TypeOther, subType: "contract_call", flags: []string{"caught_inner_failure"},
			clears: []string{"reentrancy", "flash loan", "contract drained"},
		},
	},
}
