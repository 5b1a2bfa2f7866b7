// Package recordid makes the ids of jobs and runs.
package recordid

import (
	"time"

	"github.com/google/uuid"
)

// New makes the id of a job or a run: a UUID of version 7, so that ids are in the
// order of their time. Stores count retention from that time.
func New() string { return uuid.Must(uuid.NewV7()).String() }

// TimeOf returns when New made an id; ok is false where it did not.
func TimeOf(id string) (t time.Time, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec), true
}
