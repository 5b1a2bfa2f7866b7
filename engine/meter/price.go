package meter

// Cent is one unit of payment, $0.01, in base units of a token with six decimals
// and in nano-dollars.
const (
	Cent     = 10_000
	centNano = 10_000_000
)

// Owed is the price of an analysis that has cost nano nano-dollars so far, in base
// units (1 USD = 1,000,000): cost x 1.20 + $0.02, up to the next whole cent.
func Owed(nano int64) uint64 {
	// In tenths of a nano-dollar all of it is an integer.
	tenths := uint64(max(nano, 0))*12 + 2*10*centNano
	return (tenths + 10*centNano - 1) / (10 * centNano) * Cent
}
