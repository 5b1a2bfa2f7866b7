package discovery

import (
	"maps"
	"strings"
	"txlens/engine/api"
)

// toolSpecVersion is the version of the tool specification, equal to that of the interface.
const toolSpecVersion = 1

// toolSpec is /tool-spec.json. It has exactly these members.
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

// The two vendors' formats of a tool.
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

// endpoint is one entry in the list of endpoints. Tool is set if a tool calls it.
type endpoint struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Payment string `json:"payment"`
	Purpose string `json:"purpose"`
	Tool    string `json:"tool,omitempty"`
}

// tool is one of the three tools, for every vendor. How says how to send its request if
// nothing is charged, paid if the service is metered.
type tool struct {
	name, operation, text, how, paid string
	input                            func(all map[string]schema) schema
}

var tools = []tool{
	{
		"explain_transaction", "explainTransaction",
		"Explain one EVM transaction by its hash and wait for the result. The chain is found by itself. " +
			"Check analysisModel before trusting the result: partial-synthesis marks a partial one, whose summary names the phase that failed. May take {longest}.",
		"Send POST /explain, with the view summary where the input names none.",
		"Send POST /explain with the header Accept: text/event-stream through a client that pays MPP sessions and reads server-sent events; the event of type result is the answer. " +
			"Without that header it is refused (402, use_metered_sse). A client that reads no streams uses start_explain_job.",
		explainInput,
	},
	{
		"start_explain_job", "startExplainJob",
		"Start a job that explains one EVM transaction. Returns jobId at once; ask for the result with get_job_result. Use it when the connection may not last as long as the analysis.",
		"Send POST /explain/async, with the view summary where the input names none.",
		"Send POST /explain/async with a fetch that pays MPP sessions; it reads no stream.",
		explainInput,
	},
	{
		"get_job_result", "getJobResult",
		"Ask where a job stands. Call it every 5 to 15 seconds until status is complete (read result) or error (read error and errorCode). A job is kept for {jobKept}.",
		"Send GET /result/{jobId}.",
		"Send GET /result/{jobId} with the same paying fetch: each poll pays what has accrued since the last one, and a job of which nothing is collected for {jobPatience} is aborted.",
		jobInput,
	},
}

func explainInput(all map[string]schema) schema {
	s := maps.Clone(all["ExplainRequest"])
	delete(s, "description")
	// A summary fits a context window; the endpoints return the full view by default.
	members := maps.Clone(s["properties"].(schema))
	view := maps.Clone(members["view"].(schema))
	view["default"] = string(api.ViewSummary)
	view["description"] = "How much of the result you get: summary (at most 8 KiB), standard (at most 64 KiB) or full (megabytes for a large trace). " +
		"A smaller one has findings, risks, losses, gains and steps before calls and transfers. Its member view counts what was left out and says how to get it."
	members["view"], s["properties"] = view, members
	// Not every vendor takes a list of types, and a model that knows the chain knows its id.
	chainID := maps.Clone(members["chainId"].(schema))
	chainID["type"] = "integer"
	chainID["description"] = "EIP-155 id of the chain, in plain digits. Without it all supported chains are asked in parallel; with it the search is saved."
	members["chainId"] = chainID
	delete(members, api.MemberCallback) // a model asks for its job
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
		Version: toolSpecVersion, BaseURL: basePlaceholder, Auth: "mpp-x402", SkillURL: basePlaceholder + "/SKILL.md", OpenAPIURL: basePlaceholder + "/openapi.json", DefaultModel: cfg.Model,
	}
	byOperation := map[string]string{}
	for _, t := range tools {
		text := t.text + " " + t.how + " This deployment charges nothing."
		if cfg.Metered {
			text = t.text + " " + t.paid + " SKILL.md says how to pay."
		}
		spec.Anthropic = append(spec.Anthropic, messagesTool{t.name, text, t.input(all)})
		spec.OpenAI = append(spec.OpenAI, completionsTool{"function", completionsFunction{t.name, text, t.input(all)}})
		byOperation[t.operation] = t.name
	}
	for _, op := range operations(cfg.Metered) {
		if op.moves || op.unlisted {
			continue // for the payment client, not for the model; its path is listed already
		}
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
