// Package sale is the metered run: an analysis that its payer pays for while it runs,
// whether it is streamed or an async job.
//
//	Seller.Admit ─▶ Seller.Begin ─▶ Run ─ Gate, OnCost ─▶ analysis
//	                                  ├─ Collect: takes what accrues from the channel
//	                                  ├─ Fix: the price, when the analysis has ended
//	                                  └─ End
//
// # What a payer can owe
//
// A purchase from the outside is let through while all that the payer owes, on its
// runs and on those that ended unpaid, is at most the exposure, or while its own run
// owes nothing. So a payer costs the service at most the exposure and the purchases
// that were under way when it was reached. A payer whose ended runs owe the exposure
// begins nothing new before it pays.
//
// A run that waits for its payer parks its slot (package slots), so that it keeps
// nobody out.
package sale
