package stubnode

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The services that Sources plays; the names are those of faults and counters.
const (
	Sourcify   = "sourcify"   // GET /v2/contract/{chainId}/{address}
	Signatures = "4byte"      // GET /signature-database/v1/lookup
	Etherscan  = "etherscan"  // GET /v2/api?module=contract&action=getsourcecode
	Blockscout = "blockscout" // GET [/{chainId}]/api/v2/smart-contracts/{address}
	RawTrace   = "raw-trace"  // GET [/{chainId}]/api/v2/transactions/{hash}/raw-trace of Blockscout
	Llama      = "llama"      // GET /prices/historical/{time}/{coins}
)

// Contract is a verified contract as one of the services knows it.
type Contract struct {
	Name            string
	ABI             string // JSON; "[]" when empty
	Match           string // Sourcify: exact_match (default) or match
	ProxyType       string // as Sourcify writes it; empty: no proxy
	Implementations []Implementation
	Files           []File // what it was compiled from, its own first; nil: a file with an empty contract
}

// File is one file of a source.
type File struct{ Path, Text string }

// files are never none.
func (c Contract) files() []File {
	if c.Files != nil {
		return c.Files
	}
	return []File{{"contracts/" + c.Name + ".sol", "contract " + c.Name + " {}"}}
}

// sources is the member that compilers and Sourcify give files in.
func (c Contract) sources() object {
	out := object{}
	for _, f := range c.files() {
		out[f.Path] = object{"content": f.Text}
	}
	return out
}

// Implementation is what a proxy runs.
type Implementation struct{ Address, Name string }

// Signature is one entry of the signature database.
type Signature struct {
	Name     string `json:"name"`
	Filtered bool   `json:"filtered"`
	Verified bool   `json:"hasVerifiedContract"`
}

// Price is one historical price. Numbers are JSON text, so that a test decides
// how they are written.
type Price struct {
	USD        string // "1876.54"
	Symbol     string
	Decimals   string // left out when empty
	Confidence string // left out when empty
	Timestamp  uint64 // 0: the time that was asked for
}

// Sources is the handler of all services; one URL serves as base for each, with
// any path before the ones above. Make one with NewSources.
type Sources struct {
	faults
	mu        sync.Mutex
	contracts map[string]Contract
	functions map[string][]Signature
	events    map[string][]Signature
	prices    map[string]Price
	traces    map[string]json.RawMessage
	paths     []string
}

// NewSources makes services that know nothing yet.
func NewSources() *Sources {
	return &Sources{
		contracts: map[string]Contract{},
		functions: map[string][]Signature{},
		events:    map[string][]Signature{},
		prices:    map[string]Price{},
		traces:    map[string]json.RawMessage{},
	}
}

// SetContract lets one service know a contract. A Blockscout instance without a
// chain in its path knows the contracts of every chain.
func (s *Sources) SetContract(service string, chainID uint64, address string, c Contract) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contracts[contractKey(service, strconv.FormatUint(chainID, 10), address)] = c
	if service == Blockscout {
		s.contracts[contractKey(service, "", address)] = c
	}
}

func contractKey(service, chainID, address string) string {
	return service + "/" + chainID + "/" + strings.ToLower(address)
}

// SetFunction lets the database know signatures of a selector (0x and 8 digits).
func (s *Sources) SetFunction(selector string, known ...Signature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[strings.ToLower(selector)] = known
}

// SetEvent lets the database know signatures of a topic (0x and 64 digits).
func (s *Sources) SetEvent(topic string, known ...Signature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[strings.ToLower(topic)] = known
}

// SetPrice prices a coin: "ethereum:0x…" or "coingecko:ethereum", in any case.
func (s *Sources) SetPrice(coin string, p Price) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prices[strings.ToLower(coin)] = p
}

// Asked lists path and query of all requests, in order of arrival.
func (s *Sources) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.paths...)
}

// Start serves until the test ends, and says where.
func (s *Sources) Start(tb testing.TB) (url string) {
	tb.Helper()
	srv := httptest.NewServer(s)
	tb.Cleanup(srv.Close)
	return srv.URL
}

var (
	sourcifyPath   = regexp.MustCompile(`/v2/contract/(\d+)/([^/]+)$`)
	rawTracePath   = regexp.MustCompile(`(?:/(\d+))?/api/v2/transactions/([^/]+)/raw-trace$`)
	blockscoutPath = regexp.MustCompile(`(?:/(\d+))?/api/v2/smart-contracts/([^/]+)$`)
	llamaPath      = regexp.MustCompile(`/prices/historical/(\d+)/([^/]+)$`)
	addressForm    = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	signatureForm  = regexp.MustCompile(`^0x([0-9a-fA-F]{8}|[0-9a-fA-F]{64})$`)
)

// ServeHTTP finds the service by the path.
func (s *Sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.enter()
	defer s.leave()
	s.mu.Lock()
	s.paths = append(s.paths, r.URL.RequestURI())
	s.mu.Unlock()
	path, query := r.URL.Path, r.URL.Query()
	switch {
	case sourcifyPath.MatchString(path):
		m := sourcifyPath.FindStringSubmatch(path)
		s.reply(w, r, Sourcify, func() (int, any) { return s.sourcify(m[1], m[2]) })
	case strings.HasSuffix(path, "/signature-database/v1/lookup"):
		s.reply(w, r, Signatures, func() (int, any) { return s.signatures(query.Get("function"), query.Get("event")) })
	case query.Get("module") == "contract" && query.Get("action") == "getsourcecode":
		s.reply(w, r, Etherscan, func() (int, any) {
			return s.etherscan(query.Get("chainid"), query.Get("address"), query.Get("apikey"))
		})
	case blockscoutPath.MatchString(path):
		m := blockscoutPath.FindStringSubmatch(path)
		s.reply(w, r, Blockscout, func() (int, any) { return s.blockscout(m[1], m[2]) })
	case rawTracePath.MatchString(path):
		m := rawTracePath.FindStringSubmatch(path)
		s.reply(w, r, RawTrace, func() (int, any) { return s.rawTrace(m[1], m[2]) })
	case llamaPath.MatchString(path):
		m := llamaPath.FindStringSubmatch(path)
		s.reply(w, r, Llama, func() (int, any) { return s.llama(m[1], m[2]) })
	default:
		s.count("")
		http.NotFound(w, r)
	}
}

func (s *Sources) reply(w http.ResponseWriter, r *http.Request, service string, answer func() (int, any)) {
	s.count(service)
	fault := s.take(service)
	status, body := answer()
	if fault.Status == 0 && status != http.StatusOK {
		fault.Status = status
		fault.Error = &RPCError{} // the service's own body goes with its status
	}
	fault.send(w, r, "application/json; charset=utf-8", encode(body))
}

type object = map[string]any

func (s *Sources) contract(service, chainID, address string) (Contract, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.contracts[contractKey(service, chainID, address)]
	if c.ABI == "" {
		c.ABI = "[]"
	}
	return c, ok
}

func (s *Sources) sourcify(chainID, address string) (int, any) {
	if !addressForm.MatchString(address) {
		return http.StatusBadRequest, object{
			"customCode": "invalid_parameter",
			"message":    fmt.Sprintf("Invalid address: %s", address),
			"errorId":    "8a1f",
		}
	}
	c, ok := s.contract(Sourcify, chainID, address)
	if !ok {
		return http.StatusNotFound, object{"match": nil, "creationMatch": nil, "runtimeMatch": nil, "chainId": chainID, "address": address}
	}
	match := c.Match
	if match == "" {
		match = "exact_match"
	}
	proxy := object{"isProxy": c.ProxyType != "", "proxyType": nil, "implementations": []object{}}
	if c.ProxyType != "" {
		list := []object{}
		for _, i := range c.Implementations {
			one := object{"address": i.Address}
			if i.Name != "" {
				one["name"] = i.Name
			}
			list = append(list, one)
		}
		proxy["proxyType"], proxy["implementations"] = c.ProxyType, list
	}
	return http.StatusOK, object{
		"abi":             json.RawMessage(c.ABI),
		"compilation":     object{"name": c.Name, "fullyQualifiedName": c.files()[0].Path + ":" + c.Name},
		"sources":         c.sources(),
		"proxyResolution": proxy, "match": match, "creationMatch": "match", "runtimeMatch": match,
		"chainId": chainID, "address": address, "verifiedAt": "2024-07-24T12:00:00Z", "matchId": "3266227",
	}
}

func (s *Sources) signatures(functions, events string) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := object{"function": object{}, "event": object{}}
	for _, kind := range []string{"function", "event"} {
		list, known := functions, s.functions
		if kind == "event" {
			list, known = events, s.events
		}
		for _, hash := range strings.Split(list, ",") {
			if hash == "" {
				continue
			}
			if !signatureForm.MatchString(hash) {
				return http.StatusInternalServerError, object{
					"ok":    false,
					"error": "Invalid hash '" + hash + "'. Hash must be 0x-prefixed and either be a 4 byte or 32 byte hex string.",
				}
			}
			found := known[strings.ToLower(hash)]
			switch {
			case len(found) > 0:
				out[kind].(object)[hash] = found
			case kind == "function":
				out[kind].(object)[hash] = nil
			default:
				out[kind].(object)[hash] = []Signature{}
			}
		}
	}
	return http.StatusOK, object{"ok": true, "result": out}
}

func (s *Sources) etherscan(chainID, address, key string) (int, any) {
	refuse := func(why string) (int, any) {
		return http.StatusOK, object{"status": "0", "message": "NOTOK", "result": why}
	}
	switch {
	case chainID == "":
		return refuse("Missing or unsupported chainid parameter (required for v2 api), please see chainlist for the list of supported chainids")
	case key == "":
		return refuse("Invalid API Key")
	}
	c, ok := s.contract(Etherscan, chainID, address)
	item := object{
		"SourceCode":           "",
		"ABI":                  "Contract source code not verified",
		"ContractName":         "",
		"CompilerVersion":      "",
		"OptimizationUsed":     "",
		"Runs":                 "",
		"ConstructorArguments": "",
		"EVMVersion":           "Default",
		"Library":              "",
		"LicenseType":          "Unknown",
		"Proxy":                "0",
		"Implementation":       "",
		"SwarmSource":          "",
	}
	if ok {
		item["SourceCode"], item["ABI"], item["ContractName"] = c.files()[0].Text, c.ABI, c.Name
		if len(c.files()) > 1 { // in the form of the compiler's input, in a pair of braces
			item["SourceCode"] = "{" + string(encode(object{"language": "Solidity", "sources": c.sources()})) + "}"
		}
		item["CompilerVersion"], item["OptimizationUsed"], item["Runs"] = "v0.8.19+commit.7dd6d404", "1", "200"
		if len(c.Implementations) > 0 {
			item["Proxy"], item["Implementation"] = "1", c.Implementations[0].Address
		}
	}
	return http.StatusOK, object{"status": "1", "message": "OK", "result": []object{item}}
}

// SetRawTrace sets the flat trace that Blockscout has of a transaction. An instance without
// a chain in its path has the traces of every chain.
func (s *Sources) SetRawTrace(chainID uint64, hash, list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, chain := range []string{strconv.FormatUint(chainID, 10), ""} {
		s.traces[contractKey(RawTrace, chain, hash)] = json.RawMessage(list)
	}
}

func (s *Sources) rawTrace(chainID, hash string) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, ok := s.traces[contractKey(RawTrace, chainID, hash)]; ok {
		return http.StatusOK, list
	}
	return http.StatusNotFound, object{"message": "Not found"}
}

// blockscoutKinds are the names Blockscout has for the kinds Sourcify names.
var blockscoutKinds = map[string]string{
	"EIP1967Proxy":    "eip1967",
	"EIP1167Proxy":    "eip1167",
	"GnosisSafeProxy": "master_copy",
	"DiamondProxy":    "eip2535",
}

func (s *Sources) blockscout(chainID, address string) (int, any) {
	c, ok := s.contract(Blockscout, chainID, address)
	if !ok {
		return http.StatusNotFound, object{"message": "Not found"}
	}
	list, more := []object{}, []object{}
	for _, f := range c.files()[1:] {
		more = append(more, object{"file_path": f.Path, "source_code": f.Text})
	}
	for _, i := range c.Implementations {
		list = append(list, object{"address_hash": i.Address, "name": i.Name})
	}
	out := object{"abi": json.RawMessage(c.ABI), "name": c.Name, "is_verified": true, "is_fully_verified": c.Match != "match",
		"is_partially_verified": c.Match == "match", "is_verified_via_sourcify": false, "proxy_type": nil, "implementations": list,
		"compiler_version": "v0.8.19+commit.7dd6d404", "language": "solidity", "source_code": c.files()[0].Text, "file_path": c.files()[0].Path,
		"additional_sources": more, "external_libraries": []object{}, "verified_twin_address_hash": nil, "creation_status": "success"}
	if c.ProxyType != "" {
		out["proxy_type"] = blockscoutKinds[c.ProxyType]
	}
	return http.StatusOK, out
}

func (s *Sources) llama(at, coins string) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := object{}
	for _, coin := range strings.Split(coins, ",") {
		p, ok := s.prices[strings.ToLower(coin)]
		if !ok {
			continue
		}
		one := object{"price": json.RawMessage(p.USD), "symbol": p.Symbol, "timestamp": json.RawMessage(at)}
		if p.Timestamp != 0 {
			one["timestamp"] = p.Timestamp
		}
		if p.Decimals != "" {
			one["decimals"] = json.RawMessage(p.Decimals)
		}
		if p.Confidence != "" {
			one["confidence"] = json.RawMessage(p.Confidence)
		}
		out[coin] = one
	}
	return http.StatusOK, object{"coins": out}
}
