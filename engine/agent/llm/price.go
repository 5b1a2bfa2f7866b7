package llm

// Price is what tokens cost, in nano-dollars each: $3 per million tokens is 3,000.
type Price struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Cost is in nano-dollars.
func (p Price) Cost(u Usage) int64 {
	return u.Input*p.Input + u.Output*p.Output + u.CacheRead*p.CacheRead + u.CacheWrite*p.CacheWrite
}
