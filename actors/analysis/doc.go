// Package analysis runs analyses. Each request has one Supervisor actor. Its short-lived
// children fetch one piece of evidence each, by calling package gather. The Supervisor
// collects their results and passes them to package assemble; it judges nothing itself.
//
//	Explain ─▶ Supervisor ─┬─▶ Probe            which chain
//	                       ├─▶ Facts            transaction, receipt, block
//	                       ├─▶ Trace            the ladder of trace sources
//	                       ├─▶ Label, Price     once the receipt is there
//	                       └─▶ Source           once trace and receipt are there
//
// Messages to the Supervisor: probed, factsRead, traced, labelled, sourced, priced (one from
// each child, with its result), failed (a child's work ended in an error or panic), expired
// (the deadline passed), assembled (the pure part is done). A child gets one message only:
// done, from its own work.
//
// Package runtime has the rules for actors.
package analysis
