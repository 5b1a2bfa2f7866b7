// Package budget says what a bounded store does as it fills: from which part of its bound on it
// deletes records early, and from which on it promises nothing more.
package budget

// Parts of a bound, in percent of it.
const (
	// evictPercent: from here on records are deleted. The rest is for records that cannot be
	// deleted, and for free space that is too small for a value or not yet used again.
	evictPercent = 80
	// refusePercent: from here on nothing more is promised. The rest is for what was promised before.
	refusePercent = 90
)

// leastEvicted is the least number of bytes that one transaction deletes, so that only one in
// many transactions deletes records.
const leastEvicted = 256 << 10

// Usage is what a bounded store contains, in bytes, as of the last commit.
type Usage struct {
	Live int64 // what is in use
	// Promised is the part of Live that is not deleted before it expires.
	Promised int64
	Max      int64  // the bound; 0: none
	Evicted  uint64 // records deleted before they expired, since the store was opened
}

// Tight reports whether promised records leave no room for others.
func (u Usage) Tight() bool { return u.Max > 0 && u.Promised >= EvictFrom(u.Max) }

// Full reports whether nothing more should be promised to a caller.
func (u Usage) Full() bool { return u.Max > 0 && u.Live >= percent(u.Max, refusePercent) }

// Crowded reports whether records must be deleted before so many bytes are added.
func (u Usage) Crowded(more int64) bool { return u.Max > 0 && u.Live+more >= EvictFrom(u.Max) }

// Excess is the number of bytes to delete in a transaction that adds so many.
func Excess(added int64) int64 { return max(2*added, leastEvicted) }

// EvictFrom is the number of bytes from which on records are deleted.
func EvictFrom(bound int64) int64 { return percent(bound, evictPercent) }

func percent(n, p int64) int64 { return n / 100 * p }
