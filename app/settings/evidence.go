package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"txlens/app"
	"txlens/engine/chain"
	"txlens/engine/upstream"
)

// Evidence says which services an analysis asks.
type Evidence struct {
	RPC      []string      `common:"" name:"rpc"      placeholder:"CHAIN=URL" env:"TXLENS_RPC"      sep:"," secret:"endpoint" help:"Ask this JSON-RPC endpoint first; CHAIN is a slug or an id. Repeatable, or comma-separated."`
	RPCOnly  bool          `name:"rpc-only"                         env:"TXLENS_RPC_ONLY"                           help:"Use no built-in endpoint: only chains named with --rpc are asked."`
	RPCCalls int           `name:"rpc-concurrency"                  env:"TXLENS_RPC_CONCURRENCY"                    help:"Requests to one endpoint that are under way at a time; further ones wait. An analysis needs six or more, so eight bound a server to 8/(6 x time of a call) analyses a second for each endpoint. 0 means 8." default:"8"`
	Sources  string        `name:"sources"  placeholder:"on|off"    env:"TXLENS_SOURCES"                            help:"off: ask only the RPC, and no service for contract sources, signatures, prices or traces of an explorer." enum:"on,off" default:"on"`
	Quick    bool          `name:"quick"                            env:"TXLENS_QUICK"                              help:"If a node gives no trace, re-execute without the earlier transactions of the block."`
	Deadline time.Duration `name:"deadline"                         env:"TXLENS_DEADLINE"                           help:"Time for the evidence of one analysis."                                                                    default:"120s"`
	Record   string        `name:"record"   placeholder:"DIR"       env:"TXLENS_RECORD"                             help:"Write every answer of the analysis into a new bundle in this folder, which only its owner may read."                                                         type:"path"`
	// The context is the caller's own text.
	RecordContext bool `name:"record-context" env:"TXLENS_RECORD_CONTEXT" help:"Keep the context of a request in its bundle too; without it a replay has none."`

	EtherscanKey string            `name:"etherscan-key" placeholder:"KEY"       env:"TXLENS_ETHERSCAN_KEY" secret:"all" help:"Key for contract sources of Etherscan v2."`
	Prices       map[string]string `name:"call-price"    placeholder:"TOOL=NANO" env:"TXLENS_CALL_PRICE"                 help:"What a call costs you, in nano-dollars; TOOL is a JSON-RPC method, rpc for all of them, or a name under Calls in a result; repeatable, or separated by semicolons."`

	SourcifyURL   string `name:"sourcify-url"   placeholder:"URL" env:"TXLENS_SOURCIFY_URL"   secret:"url" help:"Contract sources; default https://sourcify.dev/server."`
	FourByteURL   string `name:"fourbyte-url"   placeholder:"URL" env:"TXLENS_FOURBYTE_URL"   secret:"url" help:"Signatures; default https://api.4byte.sourcify.dev."`
	EtherscanURL  string `name:"etherscan-url"  placeholder:"URL" env:"TXLENS_ETHERSCAN_URL"  secret:"url" help:"Contract sources with a key; default https://api.etherscan.io."`
	BlockscoutURL string `name:"blockscout-url" placeholder:"URL" env:"TXLENS_BLOCKSCOUT_URL" secret:"url" help:"One Blockscout host for every chain, for sources and traces, with its key as ?apikey=KEY where it takes one; default the chain's own instance."`
	LlamaURL      string `name:"llama-url"      placeholder:"URL" env:"TXLENS_LLAMA_URL"      secret:"url" help:"Prices; default https://coins.llama.fi."`

	Own   `embed:"" group:"Your own data:"`
	Model `embed:"" group:"Language model:"`
}

// Options converts the settings. The caller closes the agent of the result.
func (f *Evidence) Options() (app.AnalysisOptions, error) {
	cfg, err := f.UpstreamConfig()
	if err != nil {
		return app.AnalysisOptions{}, err
	}
	agent, err := f.Agent()
	if err != nil {
		return app.AnalysisOptions{}, err
	}
	return app.AnalysisOptions{
		Upstream: cfg, Deadline: f.Deadline, Quick: f.Quick, RecordDir: f.Record, RecordContext: f.RecordContext, Agent: agent,
		Overlay: f.Own.holder, PrivateLabels: f.Share || f.local && agent == nil,
	}, nil
}

// maxRPCCalls bounds --rpc-concurrency.
const maxRPCCalls = 1024

// UpstreamConfig converts the settings to those of the upstream client.
func (f *Evidence) UpstreamConfig() (upstream.Config, error) {
	endpoints, err := ParseEndpoints(f.RPC)
	if err != nil {
		return upstream.Config{}, err
	}
	for _, c := range f.holder.Current().Chains() {
		endpoints[c.ID] = append(endpoints[c.ID], c.Endpoints...)
	}
	if f.Deadline <= 0 {
		return upstream.Config{}, InputError{Err: errors.New("--deadline: must be more than 0s")}
	}
	if f.RPCOnly && len(endpoints) == 0 {
		return upstream.Config{}, InputError{Err: errors.New("--rpc-only needs at least one --rpc CHAIN=URL")}
	}
	if f.RPCCalls < 0 || f.RPCCalls > maxRPCCalls {
		return upstream.Config{}, InputError{Err: fmt.Errorf("--rpc-concurrency: must be from 0, which means 8, to %d", maxRPCCalls)}
	}
	prices, err := parsePrices(f.Prices)
	if err != nil {
		return upstream.Config{}, err
	}
	return upstream.Config{
		Endpoints: endpoints, MaxConcurrent: f.RPCCalls, RPCOnly: f.RPCOnly, SourcesOff: f.Sources == "off",
		SourcifyURL: f.SourcifyURL, FourByteURL: f.FourByteURL, EtherscanURL: f.EtherscanURL, EtherscanKey: f.EtherscanKey,
		BlockscoutURL: f.BlockscoutURL, LlamaURL: f.LlamaURL, Prices: prices, ProxyFromEnv: true,
	}, nil
}

// NewAnalyst makes the Analyst of a command.
func NewAnalyst(f Evidence) (*app.Analyst, error) {
	o, err := f.Options()
	if err != nil {
		return nil, err
	}
	a, err := app.NewAnalyst(o)
	if err != nil {
		return nil, FlagError(err)
	}
	return a, nil
}

// ParseEndpoints reads CHAIN=URL pairs; several of one chain keep their order.
func ParseEndpoints(pairs []string) (map[uint64][]string, error) {
	out := make(map[uint64][]string)
	for _, p := range pairs {
		if strings.TrimSpace(p) == "" {
			continue
		}
		name, raw, ok := strings.Cut(p, "=")
		if !ok {
			return nil, InputError{Err: errors.New("--rpc: want CHAIN=URL, for example ethereum-mainnet=http://127.0.0.1:8545")}
		}
		ch, err := ParseChain(strings.TrimSpace(name))
		if err != nil {
			return nil, InputError{Err: fmt.Errorf("--rpc: %w", err)}
		}
		u, err := url.Parse(strings.TrimSpace(raw))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, InputError{Err: fmt.Errorf("--rpc: the URL of %s must be http:// or https:// and a host", ch.Slug)}
		}
		out[ch.ID] = append(out[ch.ID], u.String())
	}
	return out, nil
}

// ParseChain takes a slug, an alias or an id.
func ParseChain(s string) (*chain.Chain, error) {
	if ch, ok := chain.BySlug(s); ok {
		return ch, nil
	}
	if id, err := strconv.ParseUint(s, 10, 64); err == nil {
		if ch, ok := chain.ByID(id); ok {
			return ch, nil
		}
		return nil, fmt.Errorf("chain id %d is not in the table; see txlens chains", id)
	}
	return nil, fmt.Errorf("chain %q is not in the table; see txlens chains", s)
}

func parsePrices(in map[string]string) (map[string]int64, error) {
	out := make(map[string]int64, len(in))
	for tool, s := range in {
		if _, known := upstream.DefaultPrices()[tool]; !known && !strings.Contains(tool, "_") {
			return nil, InputError{Err: fmt.Errorf("--call-price: nothing is booked under %q; name a JSON-RPC method or one of %s", tool,
				strings.Join(slices.Sorted(maps.Keys(upstream.DefaultPrices())), ", "))}

		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return nil, InputError{Err: fmt.Errorf("--call-price %s: want a whole number of nano-dollars", tool)}
		}
		out[tool] = n
	}
	return out, nil
}
