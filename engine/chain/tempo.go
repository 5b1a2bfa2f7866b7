package chain

// tempo has no native coin: every fee is paid in a token.
type tempo struct{ generic }

var _ Stack = tempo{}

func (tempo) Name() string         { return "tempo" }
func (tempo) TxType(uint64) TxType { return TxType{FeeInToken: true} }
func (tempo) Unreplayable() string { return "a chain without native coin" }
