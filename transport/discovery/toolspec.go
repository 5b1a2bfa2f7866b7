package discovery

import (
	"maps"
	"strings"
)

// toolSpecVersion is the version of the tool specification, that of the interface.
const toolSpecVersion = 1

// toolSpec is /tool-spec.json. It has these members and no others.
type toolSpec struct {
	Version      int               `json:"version"`
	BaseURL      string            `json:"baseUrl"`
	Auth         string            `json:"auth"`
	Anthropic    []messagesTool    `json:"anthropic"`
	OpenAI       []completionsTool `json:"openai"`
	Endpoints    []endpoint        `json:"endpoints"`
	SkillURL     string            `json:"skillUrl"`
	OpenAPIURL   string            `json:"openapiUrl"`
	DefaultModel string            `json:"defaultModel"`
}

// The two vendors' forms of a tool.
type (
	messagesTool struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema schema `json:"input_schema"`
	}
	completionsTool struct {
		Type     string              `json:"type"`
		Function completionsFunction `json:"function"`
	}
	completionsFunction struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  schema `json:"parameters"`
	}
)

// endpoint is one line of the list of endpoints. Tool is set where one calls it.
type endpoint struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Payment string `json:"payment"`
	Purpose string `json:"purpose"`
	Tool    string `json:"tool,omitempty"`
}

// tool is one of the three, whoever calls it.
type tool struct {
	name, operation, text string
	input                 func(all map[string]schema) schema
}

var tools = []tool{
	{"explain_transaction", "explainTransaction", "Explain one EVM transaction by its hash and wait for the result: POST /explain. The chain is found by itself. " +
		"Check analysisModel before trusting the result: partial-synthesis marks a partial one, whose summary names the phase that failed. May take {longest}.", explainInput},
	{"start_explain_job", "startExplainJob", "Start a job that explains one EVM transaction: POST /explain/async. Returns jobId at once; ask for the result with get_job_result. " +
		"Use it when the connection may not last as long as the analysis.", explainInput},
	{"get_job_result", "getJobResult", "Ask where a job stands: GET /result/{jobId}. Call it every 5 to 15 seconds until status is complete (read result) or error (read error and errorCode). " +
		"A job is kept for one hour.", jobInput},
}

func explainInput(all map[string]schema) schema {
	s := maps.Clone(all["ExplainRequest"])
	delete(s, "description")
	return s
}

func jobInput(map[string]schema) schema {
	return schema{
		"type": "object", "required": []string{"jobId"}, "additionalProperties": false,
		"properties": schema{"jobId": schema{"type": "string", "format": "uuid", "description": "The id that start_explain_job returned."}},
	}
}

func makeToolSpec(cfg Config, all map[string]schema) ([]byte, error) {
	spec := toolSpec{
		Version: toolSpecVersion, BaseURL: base, Auth: "mpp-x402", SkillURL: base + "/SKILL.md", OpenAPIURL: base + "/openapi.json", DefaultModel: cfg.Model,
	}
	byOperation := map[string]string{}
	for _, t := range tools {
		text := strings.ReplaceAll(t.text, "{longest}", cfg.Limits.longest()) + " " + cfg.paymentOfTools()
		spec.Anthropic = append(spec.Anthropic, messagesTool{t.name, text, t.input(all)})
		spec.OpenAI = append(spec.OpenAI, completionsTool{"function", completionsFunction{t.name, text, t.input(all)}})
		byOperation[t.operation] = t.name
	}
	for _, op := range operations(cfg.Metered) {
		payment := "free"
		if op.payment != "" && cfg.Metered {
			payment = op.payment
		} else if op.payment != "" {
			payment = "not charged here (metered: " + op.payment + ")"
		}
		spec.Endpoints = append(spec.Endpoints, endpoint{strings.ToUpper(op.method), op.path, payment, op.summary, byOperation[op.id]})
	}
	return marshal(spec)
}

// paymentOfTools is what the description of each tool says about payment.
func (c Config) paymentOfTools() string {
	if c.Metered {
		return "Paid by MPP session (HTTP 402): use a client that speaks it, see SKILL.md."
	}
	return "This deployment charges nothing."
}
