// Package job runs analyses beside the requests that asked for them, and keeps the
// records of synchronous runs.
//
// The queue is an actor, and each job that runs is one goroutine that calls the
// Analyst. A state of a job is on disk before anybody is told of it, so a poll reads
// the store and asks no actor.
//
//	Submit ─▶ (stored pending) ─▶ queue ─▶ running ─▶ complete or error
//
// Messages to the queue: accepted, ended, parkJob, resumeJob, drain.
//
// Run records need no actor: they are written once and never change.
package job
