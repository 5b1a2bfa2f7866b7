// Package recordid makes the ids of jobs and runs.
package recordid

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// New returns the id of a job or run: a UUID of version 7, so that ids sort by time. Stores
// count retention from that time.
func New() string { return uuid.Must(uuid.NewV7()).String() }

// TimeOf returns the time in an id of New; ok is false for other ids.
func TimeOf(id string) (t time.Time, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec), true
}

// Before returns an id that is not above any id made at t or later.
func Before(t time.Time) string {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(t.UnixMilli())<<16)
	u[6], u[8] = 0x70, 0x80
	return u.String()
}
