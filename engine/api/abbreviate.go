package api

// abbreviated are the parts of an address that its short form shows.
type abbreviated [4]byte

func shownOf(a Addr) abbreviated { return abbreviated{a[0], a[1], a[18], a[19]} }

// Abbreviations shortens the addresses of one result so that no two of them read alike.
// It may be read concurrently once it is filled.
type Abbreviations struct {
	first map[abbreviated]Addr
	alike map[abbreviated]bool // more than one address has these digits
}

// NewAbbreviations knows the zero address, whose digits no other address may show.
func NewAbbreviations() *Abbreviations {
	return &Abbreviations{first: map[abbreviated]Addr{{}: {}}}
}

// Add makes an address known.
func (x *Abbreviations) Add(a Addr) {
	k := shownOf(a)
	if b, ok := x.first[k]; !ok {
		x.first[k] = a
	} else if a != b {
		if x.alike == nil {
			x.alike = map[abbreviated]bool{}
		}
		x.alike[k] = true
	}
}

// Of is the short form of an address, or all of its digits where the short form of
// another address reads the same.
func (x *Abbreviations) Of(a Addr) string {
	k := shownOf(a)
	if b, ok := x.first[k]; x.alike[k] || ok && a != b {
		return a.String()
	}
	return a.Short()
}
