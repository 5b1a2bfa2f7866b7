package discovery

import "slices"

// mcpOps describe the Model Context Protocol, whose messages have schemas of their own.
func mcpOps() []operation {
	message := media{kind: "application/json", schema: schema{"type": "object", "description": "A message of JSON-RPC 2.0."}}
	events := textOf("text/event-stream")
	plain := textOf("text/plain")
	refusals := slices.Concat(withBody, commonAnswers)
	for i, a := range refusals {
		switch a.status {
		case 400, 413, 415:
			refusals[i].name, refusals[i].bodies = "", append(slices.Clone(a.bodies), plain, message)
		}
	}
	gone := answer{status: 404, text: "The session is not known, or it has ended.", bodies: []media{plain}}
	return []operation{
		{
			method: "post", path: "/mcp", id: "mcp", tag: "analysis",
			summary: "Model Context Protocol, for language models",
			text: "Streamable HTTP of the versions from 2024-11-05 to 2026-07-28. Accept must name application/json and text/event-stream. " +
				"Its tools explain transactions, page through results, decode calldata and logs and look addresses up; " +
				"since 2025-06-18 they have output schemas, which their structured content follows. " +
				"Where the service is metered, a call without payment is answered with the error -32042, which has the challenges.",
			body: &message,
			answers: slices.Concat([]answer{
				{status: 200, text: "The answer, or a stream that ends with it.", bodies: []media{message, events}},
				{status: 202, text: "The notification was taken."},
				gone,
			}, refusals),
		},
		{
			method: "delete", path: "/mcp", id: "endMCPSession", tag: "analysis", unlisted: true,
			summary: "End a session of the Model Context Protocol",
			text:    "For the versions before 2026-07-28. The header Mcp-Session-Id names the session.",
			answers: slices.Concat([]answer{{status: 204, text: "It has ended."}, gone}, refusals),
		},
	}
}
