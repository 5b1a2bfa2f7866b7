package mppx

import "testing"

// The client of the official TypeScript SDK uses the tools over stdio and HTTP, and pays
// for them with mppx, to the cent.
func TestMCPWithTheSDKs(t *testing.T) {
	program(t)
	t.Parallel()
	node(t, "mcp.mjs", newSetting(t).file(t))
}
