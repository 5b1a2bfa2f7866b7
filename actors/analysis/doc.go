// Package analysis runs analyses: one Supervisor for each request, and its
// short-lived children, each of which fetches one piece of evidence.
// Nothing is judged here: children call package gather, the Supervisor hands what
// came back to package assemble.
//
//	Explain ─▶ Supervisor ─┬─▶ Probe            which chain
//	                       ├─▶ Facts            transaction, receipt, block
//	                       ├─▶ Trace            the ladder
//	                       ├─▶ Label, Price     once the receipt is there
//	                       └─▶ Source           once trace and receipt are there
//
// Messages to the Supervisor: probed, factsRead, traced, labelled, sourced,
// priced (facts, past tense, one from each child), failed (a child's work ended
// in error or panic), expired (the deadline passed), assembled (the pure part is
// done). A child gets none but done, from its own work.
//
// Package runtime has the rules for actors.
package analysis
