package chain

import "github.com/ethereum/go-ethereum/common"

// generic is node software that is not listed. It assumes nothing that is unknown: no
// special transactions, fees whose recipient only a state diff shows, no local execution.
// The other stacks embed it and override what is known about them.
type generic struct{}

var _ Stack = generic{}

func (generic) Name() string                             { return "other" }
func (generic) TxType(uint64) TxType                     { return TxType{} }
func (generic) Housekeeping(uint64, common.Address) bool { return false }
func (generic) Fee(Head) FeeRule                         { return FeeRule{} }
func (generic) TokenFeeTakers() []common.Address         { return nil }
func (generic) NativeToken() *common.Address             { return nil }
func (generic) NativeLogs() NativeLogs                   { return NativeLogsRepeat }
func (generic) EIP6780(h Head) bool                      { return h.Cancun }
func (generic) Builtin(a common.Address) (Builtin, bool) { return Precompile(a) }
func (generic) Traces() Traces                           { return TracesVary }
func (generic) PublicOrder() bool                        { return false }
func (generic) SharedBridge() bool                       { return false }
func (generic) Unreplayable() string                     { return "node software of its own" }

// ovmETH is OVM_ETH of the first OVM, which Metis and Boba keep.
var ovmETH = address("0xDeadDeAddeAddEAddeadDEaDDEaDDeaDDeAD0000")

// metis is Metis Andromeda, a descendant of the first OVM.
type metis struct{ generic }

func (metis) NativeToken() *common.Address { return ovmETH }

// moonbeam is Moonbeam and Moonriver: Substrate with an EVM.
type moonbeam struct{ generic }

var moonbeamToken = address("0x0000000000000000000000000000000000000802")

// NativeToken is the native ERC-20 precompile (docs.moonbeam.network).
func (moonbeam) NativeToken() *common.Address { return moonbeamToken }

// NativeLogs: calls to the precompile move coin without carrying value; plain
// calls with value emit nothing.
func (moonbeam) NativeLogs() NativeLogs { return NativeLogsAdd }
