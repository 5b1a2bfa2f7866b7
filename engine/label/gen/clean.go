package main

import (
	"regexp"
	"slices"
	"strings"

	"txlens/engine/label"
)

// adapters are the sources whose names are variables and keys of code that adds up balances:
// what they call an address need not be what it is called.
var adapters = []string{"defillama", "defillama-dim"}

// balances is the source that adds up what projects hold, and so lists the contracts that they put
// it into beside their own.
const balances = "defillama"

// ownRoles are the roles in which that source lists a project's own addresses.
var ownRoles = []string{"cex", "factory", "router"}

// shared are words for contracts that projects put their funds into, whosever they are.
var shared = strings.Fields("vault pool strategy farm market pair gauge liquidity collateral swap exchange proxy")

// parts are words that end the name of a contract of a kind which has no role of its own.
var parts = strings.Fields("registry lens")

// foreign are words for what a project has or is held by.
var foreign = strings.Fields("token lp treasury admin holder account wallet")

// usedOnly reports whether a row says no more than that a project uses the address: neither the role
// nor the name is one of the project's own parts.
func usedOnly(name, role, source string, confidence uint8) bool {
	if !slices.Contains(adapters, source) || confidence >= uint8(label.Official) || slices.Contains(ownRoles, role) {
		return false
	}
	_, part, _ := strings.Cut(name, ": ")
	plain, isPlain := plainWords(part)
	own := false
	for _, w := range strings.Fields(strings.ToLower(plain)) {
		w = singular(w)
		if slices.Contains(foreign, w) {
			return true
		}
		own = own || !slices.Contains(shared, w) && !versionWord.MatchString(w)
	}
	return source == balances && (!isPlain || !own)
}

// calledOnly is the name of a contract that an adapter only calls, which may be anybody's.
const calledOnly = "called contract"

// generic are names that say nothing of an address.
var generic = []string{"contract", "contract holding funds", calledOnly, "contracts", "address", "addresses"}

// cutNames is the length at which the collection cuts names.
const cutNames = 64

// roleWords are what an address of a role is called where its name says nothing.
var roleWords = map[string]string{
	"vault": "vault", "factory": "factory", "pool": "pool", "cex": "wallet", "router": "router", "governance": "governance",
	"staking": "staking", "bridge": "bridge", "oracle": "oracle", "distributor": "distributor", "token": "token", "nft": "NFT",
}

// words are those of which the name of an address is made. Of other words in an adapter nobody can
// tell whether they are a name or the code's.
var words = strings.Fields(`
	admin adapter auction bank bond booster bribe bridge bridges bundler chef collateral comptroller controller converter deployer deposit
	depositor diamond distributor dao escrow exchange executor factory farm fee fees forwarder gateway gauge genesis governance
	governor helper hook hub implementation insurance keeper launchpad lending lens liquidity liquidator lock locked locker lottery
	manager market marketplace masterchef minter module multisig nft old oracle order orderbook pair perpetual pool portal prediction
	presale price protocol provider proxy redemption referral registry relayer reserve reserves reward rewards router sale settlement
	staking stability strategy swap timelock token trading treasury trove vault vesting voter voting wallet withdrawal wrapper
	account accountant active cellar engine handler holder operator collector emission feed master reader recipient resolver staker standard stableswap sugar teller
	tranche tricrypto twocrypto unitroller worker lp stable weighted concentrated`)

var versionWord = regexp.MustCompile(`^[vV]\d{1,2}(\.\d{1,3}){0,2}$`)

// cleanName is the name of a row as people read it, and the confidence that is left of it.
func cleanName(name, role, source string, confidence uint8) (string, uint8) {
	brand, part, ok := strings.Cut(name, ": ")
	switch {
	case ok && usedOnly(name, role, source, confidence):
		return "an address used by " + brand, uint8(label.Scraped)
	case len([]rune(name)) >= cutNames-1:
	case !ok:
		return name, confidence
	case slices.Contains(generic, strings.ToLower(part)):
		if part == calledOnly {
			return brand, uint8(label.Scraped) // the role is a guess of the collection
		}
	case slices.Contains(adapters, source):
		if plain, isPlain := plainWords(part); isPlain {
			return brand + ": " + plain, confidence
		}
	default:
		return name, confidence
	}
	if !ok {
		return "", confidence // a cut name without a brand
	}
	if last := lastPart(part); last != "" && slices.Contains(adapters, source) {
		return brand + ": " + last, confidence
	}
	if word := roleWords[role]; word != "" {
		return brand + ": " + word, confidence
	}
	return brand, confidence
}

// lastPart is the word for a kind of contract without a role that ends a name. It tells more than the
// role, which the collection has guessed.
func lastPart(name string) string {
	list := strings.Fields(strings.ToLower(name))
	if len(list) == 0 {
		return ""
	}
	last := list[len(list)-1]
	for _, w := range []string{last, singular(last)} {
		if slices.Contains(parts, w) {
			return w
		}
	}
	return ""
}

// plainWords are the words of a name in the singular, if they are words for contracts.
func plainWords(part string) (string, bool) {
	list := strings.Fields(part)
	for i, w := range list {
		low := strings.ToLower(w)
		if slices.Contains(words, singular(low)) {
			low = singular(low)
		}
		switch {
		case versionWord.MatchString(w):
			list[i] = strings.ToLower(w)
		case !slices.Contains(words, low):
			return "", false
		case i > 0:
			list[i] = low
		default:
			list[i] = w[:1] + low[1:]
		}
		if low == "nft" || low == "dao" || low == "lp" {
			list[i] = strings.ToUpper(low)
		}
	}
	return strings.Join(list, " "), len(list) > 0 && !versionWord.MatchString(list[0])
}

// singular undoes the plural of a list of addresses.
func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies"):
		return strings.TrimSuffix(w, "ies") + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		return strings.TrimSuffix(w, "es")
	case strings.HasSuffix(w, "ys"):
		return strings.TrimSuffix(w, "s")
	}
	return strings.TrimSuffix(w, "s")
}
