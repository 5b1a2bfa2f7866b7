package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"txlens/actors/analysis"
	"txlens/engine/agent"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/catalog"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/transport/client"
)

// Model selects the language model that tests the conclusions of the rules, and its limits.
// The zero value is no model. There is no flag for the key of the provider, because other
// users can read the arguments of a process.
type Model struct {
	Provider    string            `common:"" name:"provider"          enum:"${providers}"         default:"off"          env:"TXLENS_PROVIDER"          help:"Provider of the language model that tests and extends what the rules found, one of ${enum}; openai is any endpoint that speaks Chat Completions."`
	ProviderURL string            `name:"provider-url"                                                         env:"TXLENS_PROVIDER_URL"      help:"Base URL of the provider; default the vendor's own."                                                                                                                                              placeholder:"URL"         secret:"url"`
	ProviderKey string            `name:"provider-key-file"                                                    env:"TXLENS_PROVIDER_KEY_FILE" help:"File with the key of the provider, which only its owner may read. The variable TXLENS_PROVIDER_KEY can hold the key itself."                                                                      placeholder:"FILE"        secret:"no"  type:"path"`
	Default     string            `name:"default-model"                                 default:"model-opus-5" env:"TXLENS_DEFAULT_MODEL"     help:"Model for requests that name none; the documents of the server name it."`
	IDs         map[string]string `name:"model-id"                                                             env:"TXLENS_MODEL_ID"          help:"What the provider calls a model of a request, * for all of them; needed with openai. Repeatable, or separated by semicolons."                                                                     placeholder:"MODEL=ID"`
	TokenPrices map[string]string `name:"model-price"                                                          env:"TXLENS_MODEL_PRICE"       help:"What its tokens cost, in nano-dollars each, such as input:5000,output:25000,cache-read:500,cache-write:6250, or 0; * for all models; needed with openai. Repeatable, or separated by semicolons." placeholder:"MODEL=PRICE"`
	Turns       int               `name:"model-turns"                                   default:"16"           env:"TXLENS_MODEL_TURNS"       help:"Turns of the model in one analysis."`
	Tokens      int               `name:"model-tokens"                                  default:"600000"       env:"TXLENS_MODEL_TOKENS"      help:"Tokens of one analysis, of all kinds together."                                                                                                                                                                             secret:"no"`
	Thinking    int               `name:"model-thinking"                                default:"4096"         env:"TXLENS_MODEL_THINKING"    help:"Tokens of one turn for thinking; 0: none."`
	Budget      string            `name:"model-budget"                                  default:"3"            env:"TXLENS_MODEL_BUDGET"      help:"What the model may cost in one analysis, in dollars."`
	PerHour     string            `name:"model-budget-per-hour"                         default:"0"            env:"TXLENS_MODEL_BUDGET_PER_HOUR" help:"What the model may cost in any hour, all analyses together, in dollars; 0: no limit. Beyond it the rules alone answer."`
	InAll       string            `name:"model-budget-total"                            default:"0"            env:"TXLENS_MODEL_BUDGET_TOTAL" help:"The same since the server was started."`
	Patience    time.Duration     `name:"model-patience"                                default:"4m"           env:"TXLENS_MODEL_PATIENCE"    help:"Time for the model, on top of --deadline, which is for the evidence."`
	Playbooks   string            `name:"playbooks"                                                            env:"TXLENS_PLAYBOOKS"         help:"Folder of your own playbooks; they join the built-in ones, or replace those of the same name."                                                                                                    placeholder:"DIR"                      type:"path"`

	// Wire bounds one turn of the model; the zero value means the defaults.
	Wire llmhttp.Limits `kong:"-"`
}

// ProviderKeyEnv holds the key of the provider. It is not one of the settings, so
// that no list of those shows it.
const ProviderKeyEnv = "TXLENS_PROVIDER_KEY"

// Vars are the variables in the tags of the settings, for kong.Vars: "providers" lists the
// providers of language models.
func Vars() map[string]string {
	var providers []string
	for _, k := range catalog.Kinds() {
		providers = append(providers, string(k))
	}
	return map[string]string{"providers": strings.Join(providers, ",")}
}

// off reports whether no model is used.
func (f *Model) off() bool {
	return f.Provider == "" || catalog.Kind(f.Provider) == catalog.Off
}

// Agent makes the agent of the settings; nil if no model is used. It sends no request. An
// error is an InputError that names the flag, also for flags that are not needed.
func (f *Model) Agent() (*analysis.Agent, error) {
	cfg, err := f.catalog()
	if err != nil {
		return nil, InputError{Err: err}
	}
	limits, err := f.limits()
	if err != nil {
		return nil, InputError{Err: err}
	}
	budget, err := f.budget()
	if err != nil {
		return nil, InputError{Err: err}
	}
	library, err := agent.Library(f.Playbooks)
	if err != nil {
		return nil, InputError{Err: fmt.Errorf("--playbooks: %w", err)}
	}
	if f.off() {
		return nil, nil
	}
	if cfg.Key, err = f.key(); err != nil {
		return nil, InputError{Err: err}
	}
	if cfg.Key == "" && cfg.BaseURL == "" {
		return nil, InputError{Err: fmt.Errorf("--provider-key-file: %s wants a key; name its file, or set %s", f.Provider, ProviderKeyEnv)}
	}
	a := &analysis.Agent{
		Models: map[string]analysis.AgentModel{}, Default: f.Default, Limits: limits, Budget: budget, Library: library, Patience: f.Patience,
	}
	for _, name := range api.ModelNames() {
		m, err := cfg.Model(name)
		if err != nil {
			return nil, InputError{Err: fmt.Errorf("--model-id, --model-price: %w", err)}
		}
		a.Models[name] = analysis.AgentModel{ID: m.ID, Price: m.Price}
	}
	if a.Provider, err = catalog.New(cfg); err != nil {
		return nil, InputError{Err: fmt.Errorf("--provider-url: %w", err)}
	}
	return a, nil
}

// catalog converts the settings of the provider without the key.
func (f *Model) catalog() (c catalog.Config, err error) {
	if f.Default != "" && !slices.Contains(api.ModelNames(), f.Default) {
		return c, fmt.Errorf("--default-model: %w", NoModel(f.Default))
	}
	c = catalog.Config{Kind: catalog.Kind(f.Provider), Models: f.IDs, Prices: map[string]llm.Price{}}
	c.BaseURL, c.ProxyFromEnv, c.Limits = f.ProviderURL, true, f.Wire
	for _, name := range slices.Sorted(maps.Keys(f.IDs)) {
		if !mappable(name) {
			return c, fmt.Errorf("--model-id: %w", NoModel(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.TokenPrices)) {
		var price llm.Price
		if !mappable(name) {
			return c, fmt.Errorf("--model-price: %w", NoModel(name))
		}
		if err := price.UnmarshalText([]byte(f.TokenPrices[name])); err != nil {
			return c, fmt.Errorf("--model-price %s: %w", name, err)
		}
		c.Prices[name] = price
	}
	return c, nil
}

// mappable reports whether a setting by model may have the name as a key.
func mappable(name string) bool {
	return name == catalog.Every || slices.Contains(api.ModelNames(), name)
}

// NoModel is the error of a name that is no model.
func NoModel(name string) error {
	return fmt.Errorf("%q is no model; there are %s", name, strings.Join(api.ModelNames(), ", "))
}

// limits converts the settings that limit a run.
func (f *Model) limits() (l agent.Limits, err error) {
	l = agent.Limits{Turns: f.Turns, Tokens: int64(f.Tokens), Thinking: int64(f.Thinking)}
	if f.Thinking == 0 {
		l.Thinking = -1
	}
	if f.Provider == "" {
		return l, nil // the settings were not parsed
	}
	switch {
	case f.Turns < 1 || f.Turns > 200:
		return l, errors.New("--model-turns: must be between 1 and 200")
	case f.Tokens < 1 || f.Tokens > 100_000_000:
		return l, errors.New("--model-tokens: must be between 1 and 100,000,000")
	case f.Thinking < 0 || f.Thinking > 100_000:
		return l, errors.New("--model-thinking: must be between 0 and 100,000")
	case f.Patience <= 0:
		return l, errors.New("--model-patience: must be more than 0s")
	}
	if l.Nano, err = nanoOf(f.Budget, 1000); err == nil && l.Nano == 0 {
		err = errors.New("must be more than 0")
	}
	if err != nil {
		return l, fmt.Errorf("--model-budget: %w", err)
	}
	return l, nil
}

// budget converts the limits of all analyses together.
func (f *Model) budget() (*agent.Budget, error) {
	hour, err := nanoOf(cmp.Or(f.PerHour, "0"), 1_000_000)
	if err != nil {
		return nil, fmt.Errorf("--model-budget-per-hour: %w", err)
	}
	all, err := nanoOf(cmp.Or(f.InAll, "0"), 1_000_000)
	if err != nil {
		return nil, fmt.Errorf("--model-budget-total: %w", err)
	}
	return agent.NewBudget(hour, all), nil
}

// nanoOf converts an amount of at most so many dollars to nano-dollars.
func nanoOf(dollars string, most int64) (int64, error) {
	amount, err := mpp.ParseTokens(dollars)
	if err != nil {
		return 0, err
	}
	base, fits := amount.Uint64()
	if !fits || base > uint64(most)*1_000_000 {
		return 0, fmt.Errorf("must be at most %d dollars", most)
	}
	return int64(base) * 1000, nil // base units are millionths
}

// key returns the key of the provider; empty if there is none.
func (f *Model) key() (string, error) {
	text, err := Secret("--provider-key-file", f.ProviderKey, ProviderKeyEnv)
	if err != nil {
		return "", err
	}
	if !client.Sendable(text) {
		return "", errors.New("the key of the provider has a character that cannot be sent, such as a blank or a line break")
	}
	return text, nil
}
