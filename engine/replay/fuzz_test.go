package replay

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"

	"txlens/engine/trace"
)

// Whatever code and state a node answers with, a run ends soon and without panic,
// and its tree agrees with its outcome.
func FuzzCode(f *testing.F) {
	f.Add([]byte{byte(vm.STOP)}, []byte(nil), uint64(15_000_000), uint64(1_656_000_000))
	f.Add(jump, []byte{1}, uint64(15_000_000), uint64(1_656_000_000))
	f.Add([]byte{byte(vm.PUSH0), byte(vm.PUSH0), byte(vm.PUSH0), byte(vm.CREATE), byte(vm.SELFDESTRUCT)}, []byte(nil), uint64(20_000_000), uint64(1_718_000_000))
	f.Add([]byte{byte(vm.CALLER), byte(vm.SELFDESTRUCT)}, []byte(nil), uint64(1_000_000), uint64(1_455_000_000))
	f.Add([]byte{byte(vm.BLOBBASEFEE)}, []byte(nil), uint64(20_000_000), uint64(1_718_000_000))
	f.Add([]byte{byte(vm.GAS), byte(vm.BLOCKHASH)}, []byte(nil), uint64(23_000_000), uint64(1_750_000_000))
	f.Fuzz(func(t *testing.T, code, input []byte, number, timestamp uint64) {
		blk, tx, st := made(code...)
		blk.Number, blk.Timestamp = number, timestamp
		if timestamp > 1_663_224_000 {
			blk.Difficulty.SetUint64(0)
		}
		tx.Input, tx.Gas = input, 200_000
		st.storage = func(slot common.Hash) (common.Hash, error) { return slot, nil }
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		res, err := Run(ctx, mainnet(t), blk, tx, nil, st, trace.Limits{})
		if ctx.Err() != nil {
			t.Fatalf("still running: %v", err)
		}
		if err != nil {
			return
		}
		if (res.Status == 1) != (res.Tree.Root.Err == "") || res.GasUsed != res.Tree.Root.GasUsed || res.GasUsed > tx.Gas {
			t.Errorf("status %d, gas %d, root %+v", res.Status, res.GasUsed, res.Tree.Root)
		}
	})
}
