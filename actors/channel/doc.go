// Package channel is the payee's side of payment channels: one actor for each channel
// owns its row and makes the changes to it one at a time; the Settler pays channels
// out, watches the settlement chain and checks the payee's ability to settle.
//
// What a channel answers is on disk first.
package channel
