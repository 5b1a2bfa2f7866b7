package facts

import (
	"math/big"
	"strconv"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestNets: sums are those of a map, for few assets and for many.
func TestNets(t *testing.T) {
	for _, assets := range []int{1, 3, fewPositions, fewPositions + 1, 200} {
		var s Nets
		want := map[common.Address]map[Key]int64{}
		for i := range 6 * assets {
			k := Key{Token: common.Address{1}, ID: strconv.Itoa(i % assets)}
			from, to := common.Address{byte(i % 3)}, common.Address{byte(i % 5)}
			amount := int64(i + 1)
			s.Move(k, from, to, big.NewInt(amount))
			for a, n := range map[common.Address]int64{{100}: 0, from: 0, to: 0} {
				if want[a] == nil {
					want[a] = map[Key]int64{}
				}
				want[a][k] += n
			}
			want[from][k] -= amount
			want[to][k] += amount
		}
		for a, keys := range want {
			if a == (common.Address{100}) {
				if s.Of(a) != nil || s.Net(a, Key{}) != nil {
					t.Errorf("%d assets: an account without movements has some", assets)
				}
				continue
			}
			if len(s.Of(a)) != len(keys) {
				t.Errorf("%d assets: %s has %d positions, want %d", assets, a, len(s.Of(a)), len(keys))
			}
			for k, n := range keys {
				if got := s.Net(a, k); got == nil || got.Int64() != n {
					t.Errorf("%d assets: %s has %s of %s, want %d", assets, a, got, k.ID, n)
				}
			}
			if s.Net(a, Key{ID: "none"}) != nil {
				t.Errorf("%d assets: an asset that did not move has a sum", assets)
			}
		}
	}
}
