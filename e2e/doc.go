// Package e2e tests the program from outside, with the tools that its callers have:
// what those need is installed by npm ci in this folder. Where there is no Node.js
// the tests skip, unless TXLENS_REQUIRE_NODE is set: then they fail.
package e2e
