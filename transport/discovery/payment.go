package discovery

import (
	"slices"
	"strconv"
)

// paymentScheme is the name of the security scheme.
const paymentScheme = "mppSession"

// paymentInfo is the extension x-payment-info of a paid operation, in the form with offers
// (draft-payment-discovery). The member charged is an addition of this service: it says
// whether this deployment charges.
func (c Config) paymentInfo() map[string]any {
	about := "One unit is a voucher increment of " + dollars(c.Terms.Unit) + "; how many an analysis takes depends on what it costs."
	if !c.Metered {
		about = "Not charged by this deployment. Where the service is metered: " + about
	}
	var offers []any
	for _, currency := range slices.Concat([]string{c.Terms.Currency}, c.Currencies) {
		offers = append(offers, map[string]any{
			"intent": "session", "method": "tempo", "amount": strconv.FormatUint(c.Terms.Unit, 10), "currency": currency,
			"priceMode": "dynamic", "description": about,
		})
	}
	return map[string]any{"charged": c.Metered, "offers": offers}
}

// serviceInfo is the extension x-service-info of the document.
func (c Config) serviceInfo() map[string]any {
	return map[string]any{
		"categories": []any{"blockchain", "data", "ai"},
		"metered":    c.Metered,
		"docs": map[string]any{
			"homepage": basePlaceholder + "/", "apiReference": basePlaceholder + "/openapi.json", "llms": basePlaceholder + "/llms.txt",
		},
	}
}
