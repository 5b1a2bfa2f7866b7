// Package channel is the payee's side of payment channels. One actor for each channel owns its
// row and applies changes one at a time. The Settler pays channels out. The Watcher compares
// them with the settlement chain, also after a reorganisation, and checks that the payee is
// able to settle.
//
// The answer of a channel is stored before it is returned.
package channel
