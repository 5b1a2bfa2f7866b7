package verdict

import (
	"txlens/engine/api"
)

// Flag is a risk flag: something about a transaction that a reader should look at. It is
// an observation and no verdict; all of them occur in honest transactions.
type Flag uint8

// The flags, in the order of the documentation. The causes of findings follow them: each
// finding raises the flag of its category.
const (
	NoFlag Flag = iota
	UnlimitedApproval
	OperatorApproval
	BulkApprovals
	ApprovalToReported
	AccountDelegation
	AddressPoisoning
	FakeAirdrop
	FakeTransferEvent
	CaughtInnerFailure
	InnerFailure
	ImplementationChanged
	AdminChanged
	BeaconChanged
	OwnerChanged
	RoleGranted
	RoleRevoked
	FacetsChanged
	ModuleEnabled
	ModuleDisabled
	ThresholdChanged
	OwnerAdded
	OwnerRemoved
	GuardChanged
	Paused
	UninitialisedTakeover
	BadDebt
	FlashLoan
	NoSlippageLimit
	UnverifiedDelegatecall
	PaymasterOrPostopFailure
	CoinbasePayment
	Sandwich
	StuckValue
	PriceMoved
	Drain
	UnearnedGain
	ReportedAddress
	SanctionedAddress
	firstCause // the flags of findings begin here, in the order of api.Category.Enum
)

// Info describes a flag.
type Info struct {
	Slug  string // as results name it
	Title string // for documentation
	// Category is the cause that a finding on such a flag would have, empty when there is
	// none.
	Category api.Category
	Severity api.Severity // of the flag by itself, without a finding
	// Administrative: an administrator acted on a contract. Control: who or what controls
	// the contract changed by it, or may have.
	Administrative, Control bool
	Amplifier               api.Amplifier // what the flag shows to have made a loss larger, if anything
}

var infos = [firstCause]Info{
	UnlimitedApproval: {Slug: "unlimited_approval", Title: "unlimited approval", Category: api.PhishingApproval, Severity: api.SeverityLow},
	OperatorApproval: {
		Slug:     "operator_approval",
		Title:    "approval for a whole collection to an unknown operator",
		Category: api.PhishingApproval,
		Severity: api.SeverityMedium,
	},
	BulkApprovals: {
		Slug:     "bulk_approvals",
		Title:    "approvals of several tokens to one unknown spender",
		Category: api.PhishingApproval,
		Severity: api.SeverityMedium,
	},
	ApprovalToReported: {
		Slug:     "approval_to_reported",
		Title:    "approval for an address that a public list reports for fraud",
		Category: api.PhishingApproval,
		Severity: api.SeverityHigh,
	},
	AccountDelegation: {
		Slug:     "account_delegation",
		Title:    "EIP-7702 delegation to unknown code",
		Category: api.AccountAbstraction,
		Severity: api.SeverityMedium,
	},
	AddressPoisoning: {
		Slug:      "address_poisoning",
		Title:     "look-alike address or token",
		Severity:  api.SeverityLow,
		Amplifier: "vanity_lookalike",
	},
	FakeAirdrop: {
		Slug:     "fake_airdrop",
		Title:    "tokens that advertise a site or imitate a token, sent to many accounts",
		Severity: api.SeverityLow,
	},
	FakeTransferEvent: {
		Slug:     "fake_transfer_event",
		Title:    "transfer event without a change of balance",
		Category: api.TokenIncompatibility,
		Severity: api.SeverityLow,
	},
	CaughtInnerFailure: {Slug: "caught_inner_failure", Title: "failed inner call in a transaction that succeeded", Severity: api.SeverityInfo},
	InnerFailure: {
		Slug:     "inner_failure",
		Title:    "failed operation of the user in a transaction that succeeded",
		Severity: api.SeverityInfo,
	},
	ImplementationChanged: {
		Slug:           "implementation_changed",
		Title:          "implementation of a proxy replaced",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	AdminChanged: {
		Slug:           "admin_changed",
		Title:          "admin of a proxy replaced",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	BeaconChanged: {
		Slug:           "beacon_changed",
		Title:          "beacon of a proxy replaced",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	OwnerChanged: {
		Slug:           "owner_changed",
		Title:          "owner of a contract replaced",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	RoleGranted: {
		Slug:           "role_granted",
		Title:          "role granted",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	RoleRevoked: {
		Slug:           "role_revoked",
		Title:          "role revoked",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	FacetsChanged: {
		Slug:           "facets_changed",
		Title:          "facets of a diamond changed",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	ModuleEnabled: {
		Slug:           "module_enabled",
		Title:          "module of a Safe enabled",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	ModuleDisabled: {
		Slug:           "module_disabled",
		Title:          "module of a Safe disabled",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	ThresholdChanged: {
		Slug:           "threshold_changed",
		Title:          "number of required signatures changed",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	OwnerAdded: {
		Slug:           "owner_added",
		Title:          "owner of a Safe added",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	OwnerRemoved: {
		Slug:           "owner_removed",
		Title:          "owner of a Safe removed",
		Category:       api.AccessControl,
		Severity:       api.SeverityLow,
		Administrative: true,
		Control:        true,
	},
	GuardChanged: {
		Slug:           "guard_changed",
		Title:          "guard of a Safe replaced",
		Category:       api.AccessControl,
		Severity:       api.SeverityMedium,
		Administrative: true,
		Control:        true,
	},
	Paused: {Slug: "paused", Title: "contract paused", Severity: api.SeverityInfo, Administrative: true},
	UninitialisedTakeover: {
		Slug:     "uninitialised_takeover",
		Title:    "contract initialised after its deployment",
		Category: api.AccessControl,
		Severity: api.SeverityMedium,
		Control:  true,
	},
	BadDebt:   {Slug: "bad_debt", Title: "bad debt recorded by a lending market", Severity: api.SeverityMedium},
	FlashLoan: {Slug: "flash_loan", Title: "flash loan", Severity: api.SeverityInfo, Amplifier: api.FlashLoan},
	NoSlippageLimit: {
		Slug:     "no_slippage_limit",
		Title:    "swap without a minimum output",
		Category: api.SlippageExposure,
		Severity: api.SeverityLow,
	},
	UnverifiedDelegatecall: {
		Slug:     "unverified_delegatecall",
		Title:    "delegatecall to unverified code",
		Category: api.StorageCollision,
		Severity: api.SeverityLow,
	},
	PaymasterOrPostopFailure: {Slug: "paymaster_or_postop_failure", Title: "failure of a paymaster", Severity: api.SeverityInfo},
	CoinbasePayment: {
		Slug:      "coinbase_payment",
		Title:     "payment to the block producer",
		Severity:  api.SeverityInfo,
		Amplifier: "private_relay",
	},
	Sandwich:   {Slug: "sandwich", Title: "victim of a sandwich", Category: api.SlippageExposure, Severity: api.SeverityLow},
	StuckValue: {Slug: "stuck_value", Title: "value sent to where it cannot be used", Severity: api.SeverityMedium},
	PriceMoved: {
		Slug:     "price_moved",
		Title:    "spot price moved and read in the same transaction",
		Category: api.PriceManipulation,
		Severity: api.SeverityLow,
	},
	UnearnedGain:    {Slug: "unearned_gain", Title: "gain that nothing in the transaction pays for", Severity: api.SeverityMedium},
	Drain:           {Slug: "drain", Title: "contract drained by 99 % or more", Severity: api.SeverityMedium},
	ReportedAddress: {Slug: "reported_address", Title: "address that a public list reports for fraud", Severity: api.SeverityLow},
	SanctionedAddress: {
		Slug:     "sanctioned_address",
		Title:    "address that was on a list of sanctioned addresses",
		Severity: api.SeverityMedium,
	},
}

// causes are the categories of findings in their order.
var causes = func() (list []api.Category) {
	for _, v := range api.Category("").Enum() {
		list = append(list, v.(api.Category))
	}
	return list
}()

var bySlug = func() map[string]Flag {
	m := make(map[string]Flag, int(firstCause)+len(causes))
	for _, f := range Flags() {
		m[f.Info().Slug] = f
	}
	for i := range causes {
		f := firstCause + Flag(i)
		m[f.Info().Slug] = f
	}
	return m
}()

// Flags lists the flags that are no causes of findings.
func Flags() []Flag {
	out := make([]Flag, 0, firstCause-1)
	for f := NoFlag + 1; f < firstCause; f++ {
		out = append(out, f)
	}
	return out
}

// ControlFlags lists the flags by which the control of a contract changed, or may have.
func ControlFlags() (out []Flag) {
	for _, f := range Flags() {
		if f.Info().Control {
			out = append(out, f)
		}
	}
	return out
}

// Info gives the row of the flag; the zero Info for NoFlag and values outside the list.
func (f Flag) Info() Info {
	if f < firstCause {
		return infos[f]
	}
	if i := int(f - firstCause); i < len(causes) {
		slug := string(causes[i])
		if causes[i] == api.UnknownCause {
			slug = "unexplained_loss"
		}
		return Info{Slug: slug, Title: slug, Category: causes[i]}
	}
	return Info{}
}

// String gives the name of the flag in results.
func (f Flag) String() string { return f.Info().Slug }

// FlagOf finds a flag by its name in results.
func FlagOf(slug string) (Flag, bool) {
	f, ok := bySlug[slug]
	return f, ok
}

// FlagOfCause gives the flag that a finding of a category raises; NoFlag for a category
// that is not in the list.
func FlagOfCause(c api.Category) Flag {
	for i := range causes {
		if causes[i] == c {
			return firstCause + Flag(i)
		}
	}
	return NoFlag
}
