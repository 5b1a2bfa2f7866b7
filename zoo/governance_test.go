package zoo

import (
	"math/big"
	"time"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

var governanceSpecimens = []specimen{
	{
		name: "governor: voting power is delegated",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			w.call(who("treasury"), d.token, "transfer", who("bob").addr, ether("100"))
			return w.call(who("bob"), d.token, "delegate", who("alice").addr)
		},
		want: truth{txType: api.TypeGovernance, subType: "delegate"},
	},
	{
		name:   "governor: a proposal is made",
		script: func(w *world) common.Hash { return newDAO(w).propose(w) },
		want:   truth{txType: api.TypeGovernance, subType: "propose"},
	},
	{
		name: "governor: a vote is cast",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			d.propose(w)
			w.skip(1)
			return w.call(who("treasury"), d.governor, "castVoteWithReason", d.id, uint8(1), "the garden needs a fence")
		},
		want: truth{txType: api.TypeGovernance, subType: "vote"},
	},
	{
		name: "governor: a vote after the end",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			d.propose(w)
			w.skip(8)
			return w.failing(who("treasury"), d.governor, "castVote", d.id, uint8(1))
		},
		want: truth{txType: api.TypeGovernance, subType: "vote", attempted: true},
	},
	{
		name: "governor: a proposal is queued",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			return d.queue(w)
		},
		want: truth{txType: api.TypeGovernance, subType: "queue"},
	},
	{
		name: "governor: a proposal is executed and pays",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			d.queue(w)
			w.wait(2 * 24 * time.Hour)
			return w.call(who("keeper"), d.governor, "execute", d.targets, d.values, d.datas, d.digest)
		},
		want: truth{
			txType: api.TypeGovernance, subType: "execute",
			moves: []string{"timelock -1000 USDC", "bob +1000 USDC", "keeper"},
		},
	},
	{
		name: "timelock: an operation is scheduled without a governor",
		script: func(w *world) common.Hash {
			d := newDAO(w)
			return w.call(who("deployer"), d.timelock, "schedule", addrUSDC, new(big.Int), d.datas[0], [32]byte{}, [32]byte{7}, big.NewInt(2*86400))
		},
		want: truth{txType: api.TypeGovernance, subType: "queue"},
	},
}

// dao is a token that votes, a governor, and the timelock that holds the money, with a
// proposal to pay a thousand USDC to bob.
type dao struct {
	token, governor, timelock contract
	targets                   []common.Address
	values                    []*big.Int
	datas                     [][]byte
	title                     string
	digest                    [32]byte
	id                        *big.Int
}

func newDAO(w *world) *dao {
	by := who("deployer")
	d := &dao{title: "Pay bob for the fence"}
	d.token = w.deploy(by, compiled(w.tb, "VoteToken"), who("treasury").addr, ether("10000"))
	delay := big.NewInt(2 * 86400)
	d.timelock = w.deploy(by, published(w.tb, "@openzeppelin/contracts/build/contracts/TimelockController.json"),
		delay, []common.Address{by.addr}, []common.Address{{}}, by.addr)
	d.governor = w.deploy(by, compiled(w.tb, "ZooGovernor"), d.token.addr, d.timelock.addr)
	w.name("timelock", d.timelock.addr)
	w.name("governor", d.governor.addr)
	w.call(by, d.timelock, "grantRole", crypto.Keccak256Hash([]byte("PROPOSER_ROLE")), d.governor.addr)
	w.call(by, canon.usdc, "mint", d.timelock.addr, usd("5000"))
	w.call(who("treasury"), d.token, "delegate", who("treasury").addr)

	d.targets, d.values = []common.Address{addrUSDC}, []*big.Int{new(big.Int)}
	d.datas = [][]byte{canon.usdc.pack(w.tb, "transfer", who("bob").addr, usd("1000"))}
	d.digest = crypto.Keccak256Hash([]byte(d.title))
	d.id = one[*big.Int](w, d.governor, "hashProposal", d.targets, d.values, d.datas, d.digest)
	return d
}

func (d *dao) propose(w *world) common.Hash {
	w.tb.Helper()
	return w.call(who("treasury"), d.governor, "propose", d.targets, d.values, d.datas, d.title)
}

// queue has the proposal made, voted for and queued.
func (d *dao) queue(w *world) common.Hash {
	w.tb.Helper()
	d.propose(w)
	w.skip(1)
	w.call(who("treasury"), d.governor, "castVote", d.id, uint8(1))
	w.skip(4)
	return w.call(who("keeper"), d.governor, "queue", d.targets, d.values, d.datas, d.digest)
}
