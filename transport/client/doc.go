// Package client buys analyses: it is the payer's side of an MPP payment session
// (draft-tempo-session-00, protocol v2, TIP-1034) and of the service's interface.
//
// A Client has one server, one account and one key. It opens a channel when the server first
// asks for money, signs a higher voucher each time more is owed, tops up when the deposit is
// used, and gets the rest refunded when the channel is closed. The channel outlives the
// process: the next Client with the same server and account continues with it.
//
// # What a server can take
//
// A voucher is money: its holder can take its amount from the channel. So the Client signs
// only within the Limits: no deposit above MaxDeposit, no voucher above the deposit, no more
// than MaxCharge for one request, and only for the chain, token and escrow contract that were
// named. A server that asks for more gets a *LimitError and no signature; a server that
// violates the protocol in another way gets ErrProtocol. A receipt is accepted only if it
// claims no more than was signed.
//
// # What a crash can cost
//
// The state of a channel is synced to disk before anything signed leaves the process: the
// opening transaction before it is sent, the amount of a voucher before the voucher. So a
// crash loses no channel and never leads to a second one; at worst the file has a voucher that
// was not sent. A lock prevents two processes from signing for one channel.
//
// Amounts are base units of the token, a millionth of a dollar. Errors and events contain no
// keys, vouchers or request bodies.
package client
