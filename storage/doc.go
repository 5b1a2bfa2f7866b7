// Package storage keeps what must survive a restart in one bbolt file: jobs, run records
// and the ledger of payment channels.
//
// # Layout of the file
//
//	meta   "schema"                    version of this layout, one byte
//	       "secret " name              key that seals payment challenges
//	       "dictionary " id            zstd dictionary that bodies were written with
//	jobs   id 00                       head of a job, JSON
//	       id 01 n                     n-th chunk of its body
//	runs   id 00, id 01 n              the same for run records that are sold
//	streams, blocking                  the same for run records of unmetered requests
//	evidence                           the same for what their analyses read
//
//	channels    channel id             row of an open channel, binary
//	closed      channel id             row of a closed channel, binary
//	bills       id 00                  price and payments of a run or job, JSON
//	tickets     hash                   admission of a paid request, JSON
//	admissions  id 00                  keys of the tickets that belong to a bill
//	debts       payer id 00            a bill that is final and not paid
//	payers      payer, channel id      index of open channels by payer
//	intents     id 00                  a transaction of the service that may be pending, JSON
//
// An id is the 16 bytes of a UUID of version 7. Its first bytes are the time of creation, so
// keys are in the order of creation: new records are appended, expired records are at the
// front, and neither needs an index. n is four bytes, big-endian.
//
// The body holds the parts that may be large: result and HTML of a job, frames of a run. It
// is one zstd frame that is cut into chunks of 640 bytes. bbolt stores a larger value on
// consecutive pages, and the runs of free pages that it needs for that become rare in a file
// whose oldest records are deleted all the time: the file would grow without having more in
// it. Small chunks also fill the pages better. Earlier versions cut chunks of 64 KiB.
//
// # Writing
//
// One goroutine writes. It collects the waiting operations, up to a bound, into one
// transaction and answers each caller after the commit. So many callers share one fsync, and
// a single caller does not wait. A write that was acknowledged survives a crash.
//
// An operation is a function that reads and changes rows and may return an error. Then its
// own changes are reverted, and the other operations of the transaction are committed (see
// update). So an operation can check a row and change it in one step.
//
// bbolt shows a commit to readers before it is synced. A read that saw an unsynced commit
// waits for the sync. If a commit was written but its sync failed, the store accepts no more
// writes: another write could reuse pages that are needed to recover from a power cut.
//
// The list of free pages is not stored, because it could be the largest part of a commit.
// Opening the file rebuilds it by a scan. The file never shrinks while it is open; when more
// than half of it is free, opening compacts it.
//
// # Bound
//
// With Options.MaxBytes the writer deletes run records of unmetered requests in the
// transaction that would exceed four fifths of it: first evidence, then those of
// blocking requests, then those of streams, each oldest first. Records that a payer was promised are never deleted
// before they expire. Room says when nothing more should be promised.
//
// A kept result is an entry that leads from a request to a run record; it is deleted with the record.
// Evidence, too, is a record with entries that lead to it.
//
// # Opening
//
// The file contains the version of its layout. An older layout is migrated step by step; a
// newer one is refused. All pages are verified before bbolt opens the file for writing,
// because bbolt ends the process on a damaged page. A damaged file is refused with an error.
// Values are checked when they are read.
//
// # Reading
//
// A read transaction copies compressed bytes and ends before they are decompressed or sent.
// A transaction that stays open would keep free pages from reuse.
package storage
