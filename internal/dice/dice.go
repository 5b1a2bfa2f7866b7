// Package dice gives tests random numbers by a fresh seed, which is logged: a test that
// failed is run again with the same numbers by TXLENS_SEED.
package dice

import (
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// Env names the seed that is used in place of a fresh one.
const Env = "TXLENS_SEED"

// T is what this package needs of a *testing.T.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Seed is that of Env, or a fresh one. It is in the log of the test.
func Seed(t T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(Env); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%q is no seed", Env, text)
		}
	}
	t.Logf("%s=%d", Env, seed)
	return seed
}

// New is a source of numbers by Seed. It is not safe for concurrent use.
func New(t T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Stream is the n-th of any number of sources of one seed, one for each goroutine.
func Stream(seed, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n+1)) }

// UpTo is a duration below d.
func UpTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }
