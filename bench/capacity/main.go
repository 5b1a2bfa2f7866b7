// Capacity prints the plan of docs/scale.md: what so many analyses a second need, by the costs
// that the flags name. The defaults are those that the benchmarks have measured.
//
//	go run ./bench/capacity [-rates 10,1000,10000] [-cpu 2.9ms] [-rpc 100ms] ...
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"txlens/bench/queue"
)

// costs are what one analysis needs.
type costs struct {
	cpu        time.Duration // processor time of the server
	rpc        time.Duration // of one request to a node
	calls      int           // requests to a node
	rounds     int           // of them, one after the other
	runBytes   float64       // of a run record in the store
	vouchers   float64       // for one sold analysis
	voucherCPU time.Duration
	payload    float64 // bytes that nodes send for an analysis
	processors int     // of a replica
	busy       float64 // part of the processors that is planned for
	slots      int     // requests under way for each endpoint
	rpcPrice   float64 // dollars for a million requests
}

func main() {
	var c costs
	rates := flag.String("rates", "10,1000,10000", "analyses a second, separated by commas")
	flag.DurationVar(&c.cpu, "cpu", 2800*time.Microsecond, "processor time of an analysis")
	flag.DurationVar(&c.rpc, "rpc", 100*time.Millisecond, "time of one request to a node")
	flag.IntVar(&c.calls, "calls", 6, "requests of an analysis to a node")
	flag.IntVar(&c.rounds, "rounds", 3, "times that an analysis waits for some of them")
	flag.Float64Var(&c.runBytes, "run-bytes", 3500, "bytes of a run record")
	flag.Float64Var(&c.vouchers, "vouchers", 2, "vouchers of a sold analysis")
	flag.DurationVar(&c.voucherCPU, "voucher-cpu", 130*time.Microsecond, "processor time of a voucher")
	flag.Float64Var(&c.payload, "payload", 20_000, "bytes that nodes send for an analysis")
	flag.IntVar(&c.processors, "processors", 8, "processors of a replica")
	flag.Float64Var(&c.busy, "busy", 0.6, "part of the processors that is planned for")
	flag.IntVar(&c.slots, "slots", 8, "--rpc-concurrency")
	flag.Float64Var(&c.rpcPrice, "rpc-price", 1, "dollars for a million requests to a node")
	flag.Parse()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "analyses/s\tprocessors\treplicas\tunder way\tRPC/s\tRPC Mbit/s\t$ RPC/month\tslots\tcommits/s\tGB in 30 days")
	for _, text := range strings.Split(*rates, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || rate <= 0 || c.processors < 1 || c.busy <= 0 || c.calls < 1 || c.rounds < 1 {
			fmt.Fprintf(os.Stderr, "capacity: %q is no number of analyses a second, or a cost is not positive\n", text)
			os.Exit(2)
		}
		p := planOf(c, rate)
		fmt.Fprintf(
			out,
			"%.0f\t%.1f\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n",
			rate,
			p.processors,
			p.replicas,
			p.underWay,
			p.calls,
			p.megabits,
			p.dollars,
			p.slots,
			p.commits,
			p.gigabytes,
		)
	}
	out.Flush()
	bound := queue.Run(queue.Load{
		Processors: c.processors, Clients: 4096, Requests: []queue.Request{{Cost: c.cpu, Rounds: roundsOf(c)}}, CallTime: c.rpc, Slots: c.slots, Count: 50_000, Seed: 1,
	})
	fmt.Printf(
		"one replica with one endpoint and --rpc-concurrency %d: at most %.0f analyses a second, processors %.0f %% busy\n",
		c.slots,
		bound.PerSecond,
		100*bound.Busy,
	)
}

// plan is what a rate needs.
type plan struct {
	processors         float64
	replicas           int
	underWay           float64 // analyses at a time, by Little's law
	calls, megabits    float64 // a second
	dollars            float64 // for calls, in 30 days
	slots              float64 // requests to nodes under way
	commits, gigabytes float64 // if each analysis is sold and kept
}

func planOf(c costs, rate float64) (p plan) {
	perAnalysis := c.cpu.Seconds() + c.vouchers*c.voucherCPU.Seconds()
	p.processors = rate * perAnalysis
	p.replicas = max(1, int(math.Ceil(p.processors/(float64(c.processors)*c.busy))))
	p.underWay = rate * (c.cpu.Seconds() + float64(c.rounds)*c.rpc.Seconds())
	p.calls = rate * float64(c.calls)
	p.megabits = rate * c.payload * 8 / 1e6
	const month = 30 * 24 * 3600
	p.dollars = p.calls * month / 1e6 * c.rpcPrice
	p.slots = p.calls * c.rpc.Seconds()
	// The voucher that begins it, those that follow, its charge, and its record.
	p.commits = rate * (c.vouchers + 2)
	p.gigabytes = rate * month * c.runBytes / 1e9
	return p
}

// roundsOf spreads the calls over the rounds.
func roundsOf(c costs) (rounds []int) {
	for i := range c.rounds {
		n := c.calls / c.rounds
		if i < c.calls%c.rounds {
			n++
		}
		rounds = append(rounds, n)
	}
	return rounds
}
