package narrate_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

const rangeMoved = "ConsecutiveTransfer(uint256,uint256,address,address)"

// TestRangesOfNFTs: an event of ERC-2309 is one movement of as many NFTs as its range has, in the
// headline, the steps, the transfers and the balances, be it minted, sent or burnt.
func TestRangesOfNFTs(t *testing.T) {
	user, friend, none := scene.User, scene.Friend, common.Address{}
	f := func(name string, s *scene.Scene, summary, step string, balances ...string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if v.Summary != summary {
			t.Errorf("%s: %s\nwant %s", name, v.Summary, summary)
		}
		if all := strings.Join(v.Steps, "\n"); !strings.Contains(all, step) {
			t.Errorf("%s: no step %q in\n%s", name, step, all)
		}
		var got []string
		for _, c := range v.Words.Flow.Changes {
			for _, d := range c.Deltas {
				if d.Key != (flow.TokenKey{}) {
					got = append(got, fmt.Sprint(v.Words.Who(c.Address), " ", d.Amount, " ", d.Key.ID))
				}
			}
		}
		if !slices.Equal(got, balances) {
			t.Errorf("%s: balances %q, want %q", name, got, balances)
		}
	}
	call := func() *scene.Scene { return scene.New(&scene.Nft, 0, scene.Input("act(uint256)", 1)) }
	moved := func(s *scene.Scene, from, to common.Address, first, last any) *scene.Scene {
		return s.Log(scene.Nft, rangeMoved, []any{first, from, to}, last)
	}
	f("minted", moved(call(), none, user, 0, 99), "Minted 100 NFTs of 0x0721…0721 (0 … 99)",
		"100 NFTs of 0x0721…0721 (0 … 99) were minted to 0xa11c…a11c.", "0xa11c…a11c 100 0-99")
	f("minted for another", moved(call(), none, friend, 5000, 5001), "Minted 2 NFTs of 0x0721…0721 (5000 … 5001) to 0xf00d…f00d through 0x0721…0721",
		"2 NFTs of 0x0721…0721 (5000 … 5001) were minted to 0xf00d…f00d.", "0xf00d…f00d 2 5000-5001")
	f("sent", moved(call(), user, friend, 7, 9), "Sent 3 NFTs of 0x0721…0721 (7 … 9) to 0xf00d…f00d",
		"0xa11c…a11c sent 3 NFTs of 0x0721…0721 (7 … 9) to 0xf00d…f00d.", "0xa11c…a11c -3 7-9", "0xf00d…f00d 3 7-9")
	f("burnt", moved(call(), user, none, 7, 9), "Burnt 3 NFTs of 0x0721…0721 (7 … 9)",
		"3 NFTs of 0x0721…0721 (7 … 9)", "0xa11c…a11c -3 7-9")
	f("one id", moved(call(), user, friend, 7, 7), "Sent NFT 7 of 0x0721…0721 to 0xf00d…f00d",
		"0xa11c…a11c sent NFT 7 of 0x0721…0721 to 0xf00d…f00d.", "0xa11c…a11c -1 7", "0xf00d…f00d 1 7")
	f("two ranges", moved(moved(call(), none, user, 0, 4), none, user, 10, 14),
		"Minted 5 NFTs of 0x0721…0721 (0 … 4) and 5 NFTs of 0x0721…0721 (10 … 14)",
		"5 NFTs of 0x0721…0721 (10 … 14) were minted to 0xa11c…a11c.", "0xa11c…a11c 5 0-4", "0xa11c…a11c 5 10-14")
	f("minted and passed on", moved(moved(call(), none, user, 0, 4), user, friend, 0, 4),
		"Minted 5 NFTs of 0x0721…0721 (0 … 4) to 0xf00d…f00d through 0x0721…0721", "0xa11c…a11c sent 5 NFTs", "0xf00d…f00d 5 0-4")
	three := call()
	for i := range 4 {
		moved(three, user, friend, 10*i, 10*i+4)
	}
	f("four ranges", three, "Sent 5 NFTs of 0x0721…0721 (0 … 4), 5 NFTs of 0x0721…0721 (10 … 14), 5 NFTs of 0x0721…0721 (20 … 24) and 5 NFTs of 0x0721…0721 (30 … 34) to 0xf00d…f00d",
		"0xa11c…a11c sent 5 NFTs of 0x0721…0721 (20 … 24) to 0xf00d…f00d.",
		"0xa11c…a11c -5 0-4", "0xa11c…a11c -5 10-14", "0xa11c…a11c -5 20-24", "0xa11c…a11c -5 30-34",
		"0xf00d…f00d 5 0-4", "0xf00d…f00d 5 10-14", "0xf00d…f00d 5 20-24", "0xf00d…f00d 5 30-34")
	bot := scene.Bot
	f("between others", moved(call(), friend, bot, 0, 4), "Moved 5 NFTs of 0x0721…0721 (0 … 4) from 0xf00d…f00d to 0xb070…b070 through 0x0721…0721",
		"0xf00d…f00d sent 5 NFTs", "0xf00d…f00d -5 0-4", "0xb070…b070 5 0-4")
	f("two between others", moved(moved(call(), friend, bot, 0, 4), friend, bot, 10, 14), "Moved 10 NFTs of 0x0721…0721 from 0xf00d…f00d to 0xb070…b070 through 0x0721…0721",
		"0xf00d…f00d sent 5 NFTs of 0x0721…0721 (10 … 14)", "0xf00d…f00d -5 0-4", "0xf00d…f00d -5 10-14", "0xb070…b070 5 0-4", "0xb070…b070 5 10-14")
	mint := func() *scene.Scene { return scene.New(&scene.Nft, 0, scene.Input("mint(address,uint256)", friend, 10)) }
	f("two minted for another", moved(moved(mint(), none, friend, 0, 4), none, friend, 5, 9), "Minted 10 NFTs of 0x0721…0721 (0 … 9) to 0xf00d…f00d",
		"5 NFTs of 0x0721…0721 (5 … 9) were minted to 0xf00d…f00d.", "0xf00d…f00d 5 0-4", "0xf00d…f00d 5 5-9")
	half := new(big.Int).Lsh(big.NewInt(1), 255)
	f("half of all ids", moved(call(), none, user, 1, half),
		"Minted 57,896,044,618,658,097,711,785,492,504,343,953,926,634,992,332,820,282,019,728,792,003,956,564,819,968 NFTs of 0x0721…0721 (1 … 578960…9968)",
		"were minted to 0xa11c…a11c.", "0xa11c…a11c "+half.String()+" 1-"+half.String())
}

// TestNoRangesOfNFTs: what is no event of ERC-2309 moves nothing.
func TestNoRangesOfNFTs(t *testing.T) {
	f := func(name string, change func(l *ethrpc.Log)) {
		t.Helper()
		s := scene.New(&scene.Nft, 0, scene.Input("act(uint256)", 1)).Log(scene.Nft, rangeMoved, []any{3, scene.User, scene.Friend}, 9)
		change(&s.Rc.Logs[0])
		if fl := s.Facts(t).Flow; len(fl.Transfers) != 0 {
			t.Errorf("%s: moved %s", name, fl.Transfers[0].Amount)
		}
	}
	f("backwards", func(l *ethrpc.Log) { l.Data = scene.Word(1).Bytes() })
	f("no sender", func(l *ethrpc.Log) { l.Topics[2] = scene.Word(-1) })
	f("no receiver", func(l *ethrpc.Log) { l.Topics[3] = scene.Word(-1) })
	f("less indexed", func(l *ethrpc.Log) { l.Topics = l.Topics[:3] })
	f("more data", func(l *ethrpc.Log) { l.Data = append(l.Data, 0) })
	f("all ids", func(l *ethrpc.Log) { l.Topics[1], l.Data = common.Hash{}, scene.Word(-1).Bytes() })
}
