// Package storage is what outlives the process: one bbolt file with the jobs and
// the run records.
//
// # Layout of the file
//
//	meta   "schema"                    version of this layout, one byte
//	       "secret " name              what challenges are sealed with
//	jobs   id 00                       head of a job, JSON
//	       id 01 n                     n-th chunk of its body
//	runs   id 00, id 01 n              the same for run records
//
//	channels    channel id             row of a channel that has not ended, binary
//	closed      channel id             the same, once it has
//	bills       id 00                  what a run or job has cost its payer, JSON
//	tickets     hash                   what a request was admitted as, JSON
//	admissions  id 00                  the keys of the tickets of the bill under that id
//	debts       payer id 00            a bill that is final and not paid
//	payers      payer, channel id      a channel that has not ended
//	intents     id 00                  a transaction of ours that may be under way, JSON
//
// An id is the 16 bytes of a UUID of version 7, so keys are in the order of their
// creation: what has expired lies in front, appending fills pages, and no index is
// needed for either. n is four bytes, big-endian.
//
// The body is what may be large: result and HTML of a job, the frames of a run. It
// is one zstd frame, cut into chunks of 64 KiB: bbolt puts a value on consecutive
// pages, and large runs of free pages are hard to find again in a file in use.
//
// # Writing
//
// One goroutine writes. It takes all that waits, up to a bound, into one
// transaction and answers each caller after the commit: one fsync serves many, and
// a lone caller waits for nobody. What Put acknowledged outlives a crash.
//
// An operation is a function that reads and changes rows and may refuse: what it
// changed is then taken back and its neighbours are committed all the same (see
// update). So a check and the write that rests on it are one step, for rows of a
// table as for records.
//
// bbolt shows a commit from the moment it is written, before it is synced; a read
// that saw such a one waits for the sync. Where a commit was written and the sync
// failed nothing more is written, since a power cut could then cost more than that
// commit.
//
// The list of free pages is not written, because with many of them it would be the
// larger part of each commit; opening scans the file for it instead. A file never
// shrinks; when more than half of it is free, opening rewrites it.
//
// # Opening
//
// The version of the layout stands in the file. An older file is brought to the
// present one by the steps in between; a newer one is refused. Before bbolt opens a
// file for writing all pages are looked at, because it ends the process where one
// is not as it must be: a damaged file is refused with an error. What is in a value
// is checked when it is read.
//
// # Reading
//
// A read transaction copies compressed bytes and ends; decompression and the
// network come after it. A transaction that stays open keeps pages from reuse.
package storage
