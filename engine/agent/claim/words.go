package claim

import "strings"

// set makes a set of the words of a text.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// glossary are capitalised words and names that any explanation may use, in lower
// case: the field's own terms. The names of protocols, tokens and people are not
// here: they must stand in the evidence.
var glossary = set(`
abi amm api aum cdp cefi cex dao dapp dapps defi dex dexs eip eips eoa eoas erc evm fork ico jit kyc l1 l2 l3 layer lp lps lst lrt mev nft nfts oft otc pda
pnl poa por pos ptb roi rpc rwa tee tvl twap vwap tx txs txn usd uuid utc ui url xyk zk zkevm
bps bp gwei wei ether gas base eth
call staticcall delegatecall callcode create create2 selfdestruct sload sstore revert log logs emit calldata returndata opcode slot slots
merkle multicall multisig permit permit2 proxy router vault pool factory oracle timelock governor bridge relayer bundler paymaster entrypoint sequencer
keeper searcher builder proposer validator solver taker maker borrower lender liquidator depositor staker delegator
transfer approval approve swap mint burn deposit withdraw withdrawal borrow repay supply redeem claim stake unstake wrap unwrap sync skim donate
safe dai stable stablecoin stablecoins token tokens coin native erc20 erc721 erc1155 erc4626 erc777 erc4337 eip1967 eip7702 eip1559 eip712
january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
contract style v1 v2 v3 v4 v5 i a english
`)

// units are words that may follow a number, with what the number then counts.
var units = map[string]unit{
	"usd": inUSD, "dollar": inUSD, "dollars": inUSD, "us$": inUSD,
	"wei": inWei, "gwei": inGwei, "base": inWei, "raw": inWei, // base units
	"%": inPercent, "percent": inPercent, "pct": inPercent, "bps": inBps, "bp": inBps,
	"x": asRatio, "times": asRatio, "fold": asRatio,
}

// unit is what a number counts.
type unit uint8

const (
	plainUnit unit = iota
	inUSD
	inWei
	inGwei
	inPercent
	inBps
	asRatio
)

// powers are words that multiply the number before them.
var powers = map[string]int{"k": 3, "thousand": 3, "m": 6, "mm": 6, "mn": 6, "mil": 6, "million": 6, "b": 9, "bn": 9, "billion": 9, "t": 12, "tn": 12, "trillion": 12}

// hedges say that the number after them is rounded.
var hedges = set("about around approximately approx roughly nearly almost over under some circa ~ ≈ ≃ ∼ least most than c")

// spelt are numbers in words.
var spelt = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
	"fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "both": 2, "twice": 2, "thrice": 3}

// vague are quantities that nothing can be held against.
var vague = set(`hundred hundreds thousand thousands million millions billion billions trillion trillions dozen dozens half halves halved quarter
doubled doubling tripled tripling quadrupled quintupled tenfold hundredfold thousandfold myriad`)

// endings of host names that a reader's program might make a link of.
var hosts = set(`com org net io xyz finance app dev me co eth link info site online top fi gg so cc ru cn ly to network exchange trade capital money cash fund
support help live pro vip club shop store tech page web wtf lol biz us uk de fr jp in id eu ch tv ai la ws sh st im gl be is it nl es pl onion zip mov dao crypto nft html php exe`)

// farHosts are those of them that are no words, so that a blank before them says
// nothing.
var farHosts = set("com org net io xyz eth")
