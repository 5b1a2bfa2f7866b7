// Package scripted is test support: an HTTP server that speaks the streaming wire
// formats of both vendors from a script, keeps every request byte for byte, and can
// be made to fail as real ones do. It refuses what the vendors are known to refuse,
// such as a tool call without an answer, so that a test fails where they would.
//
//	s := scripted.New(
//		scripted.Turn{Calls: []scripted.Call{{Name: "node", Input: scripted.Split(`{"path":"0.1"}`, 5)}}},
//		scripted.Turn{Text: []string{"It is ", "a swap."}, Usage: llm.Usage{Input: 1200, Output: 80}},
//	)
//	defer s.Close()
//	// s.Anthropic() and s.OpenAI() are base URLs, scripted.Key is the key.
package scripted
