package chain

import "github.com/ethereum/go-ethereum/common"

// other is node software of its own. It assumes nothing that is not known: no
// special transactions, fees whose recipient only a state diff tells, no local
// execution. The other stacks embed it and say what they know better.
type other struct{}

var _ Stack = other{}

func (other) Name() string                             { return "other" }
func (other) TxType(uint64) TxType                     { return TxType{} }
func (other) Housekeeping(uint64, common.Address) bool { return false }
func (other) Fee(Head) FeeRule                         { return FeeRule{} }
func (other) NativeToken() *common.Address             { return nil }
func (other) NativeLogs() NativeLogs                   { return NativeLogsRepeat }
func (other) EIP6780(h Head) bool                      { return h.Cancun }
func (other) Builtin(a common.Address) (Builtin, bool) { return Precompile(a) }
func (other) Traces() Traces                           { return TracesVary }
func (other) PublicOrder() bool                        { return false }
func (other) SharedBridge() bool                       { return false }
func (other) Unreplayable() string                     { return "node software of its own" }

// ovmETH is OVM_ETH of the first OVM, which Metis and Boba keep.
var ovmETH = address("0xDeadDeAddeAddEAddeadDEaDDEaDDeaDDeAD0000")

// metis is Metis Andromeda, a descendant of the first OVM.
type metis struct{ other }

func (metis) NativeToken() *common.Address { return ovmETH }

// moonbeam is Moonbeam and Moonriver: Substrate with an EVM.
type moonbeam struct{ other }

var moonbeamToken = address("0x0000000000000000000000000000000000000802")

// NativeToken is the native ERC-20 precompile (docs.moonbeam.network).
func (moonbeam) NativeToken() *common.Address { return moonbeamToken }

// NativeLogs: calls to the precompile move coin without carrying value; plain
// calls with value emit nothing.
func (moonbeam) NativeLogs() NativeLogs { return NativeLogsAdd }
