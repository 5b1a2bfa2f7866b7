// Package client buys analyses: it is the payer's side of an MPP payment session
// (draft-tempo-session-00, protocol v2, TIP-1034) and of the service's interface.
//
// A Client has one server, one account and one key. It opens a channel when the
// server first asks for money, signs a higher voucher each time more is owed, tops
// up when the deposit is used, and has the rest refunded when the channel is closed.
// The channel outlives the process: the next Client of the same server and account
// goes on with it.
//
// # What a server can cost
//
// A voucher is money: whoever holds one can take its sum from the channel. So
// nothing is signed that is not within the Limits: no deposit above MaxDeposit, no
// voucher above the deposit, no more than MaxCharge for one request, on no other
// chain, token or reserve than the one that was named. A server that asks for more
// gets a *LimitError and no signature; one that breaks the protocol otherwise gets
// ErrProtocol. What a receipt says is believed only where it claims no more than
// was signed.
//
// # What a crash can cost
//
// The state of a channel is on disk, synced, before anything signed leaves the
// process: the opening transaction before it is sent, the sum of a voucher before
// the voucher. A crash therefore loses no channel and never leads to a second one;
// at worst a voucher was noted that nobody has seen. A lock keeps two processes
// from signing for one channel.
//
// Amounts are base units of the token, a millionth of a dollar. Keys, vouchers and
// request bodies are in no error and no event.
package client
