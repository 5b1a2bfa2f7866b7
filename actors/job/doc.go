// Package job runs analyses asynchronously, and stores the records of synchronous runs.
//
// The queue is an actor, and each running job is one goroutine that calls the Analyst. The
// state of a job is stored before clients see it, so a poll reads the store and asks no actor.
//
//	Submit ─▶ (stored pending) ─▶ queue ─▶ running ─▶ complete or error
//
// Messages to the queue: accepted, ended, parkJob, resumeJob, drain. Payers share it; see jobQueue.
//
// Run records need no actor: they are written once and never change.
package job
