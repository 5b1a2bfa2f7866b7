// Package service starts a whole server for tests, over nodes, services and a settlement
// chain that run in the test itself:
//
//   - World is one recorded chain with the services beside it.
//   - Start runs a server over it, with the flags of txlens serve.
//   - Seller is a server that sells, with its first Payer, who signs what it is told to.
//   - Scene is one invented transaction, told by nodes that may say anything.
package service
