// Package sale implements the metered run: an analysis that its payer pays for while it runs,
// as a stream or an async job.
//
//	Seller.Admit ─▶ Seller.Begin ─▶ Run ─ Gate, OnCost ─▶ analysis
//	                                  ├─ Collect: charges the channel as costs accrue
//	                                  ├─ Fix: sets the price when the analysis has ended
//	                                  └─ End
//
// # Limit of the debt
//
// A purchase from an upstream is allowed while the debt of the payer, for running analyses and
// for unpaid ended ones, is at most the exposure, or while its own run owes nothing. So a
// payer costs the service at most the exposure and the purchases that were in progress when it
// was reached. A payer whose ended runs owe the exposure must pay before it can begin a new
// run.
//
// A run that waits for its payer parks its slot (package slots), so that other runs can use
// it.
package sale
