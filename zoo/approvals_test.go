package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// approvalSpecimens: rights that are given and taken back, and nothing that moves.
var approvalSpecimens = []specimen{
	{
		name: "ERC-20 allowance of an amount",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.usdc, "approve", addrV2Router, usd("250"))
		},
		want: truth{txType: api.TypeApproval, moves: []string{"alice"}},
	},
	{
		name: "ERC-20 allowance without limit to a known router",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.usdc, "approve", addrV2Router, maxUint)
		},
		want: truth{txType: api.TypeApproval, flags: []string{"unlimited_approval"}, moves: []string{"alice"}},
	},
	{
		name: "ERC-20 allowance beyond the supply to a stranger",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), markets.tax, "approve", who("mallory").addr, ether("2000000"))
		},
		want: truth{txType: api.TypeApproval, flags: []string{"unlimited_approval"}, moves: []string{"alice"}},
	},
	{
		name: "ERC-20 allowance taken back",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), who("mallory").addr, canon.usdc)
			return w.call(who("alice"), canon.usdc, "approve", who("mallory").addr, 0)
		},
		want: truth{txType: api.TypeApproval, says: []string{"Revoked"}, moves: []string{"alice"}},
	},
	{
		name: "ERC-20 allowance increased",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.dai, "increaseAllowance", addrV2Router, ether("12"))
		},
		want: truth{txType: api.TypeApproval, moves: []string{"alice"}},
	},
	{
		name: "ERC-721 one picture to a stranger",
		script: func(w *world) common.Hash {
			nft := w.pictures()
			w.call(who("alice"), nft, "mint", who("alice").addr, 7)
			return w.call(who("alice"), nft, "approve", who("bob").addr, 7)
		},
		want: truth{txType: api.TypeApproval, moves: []string{"alice"}},
	},
	{
		name: "all pictures to a stranger",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), w.pictures(), "setApprovalForAll", who("mallory").addr, true)
		},
		want: truth{txType: api.TypeApproval, flags: []string{"operator_approval"}, moves: []string{"alice"}},
	},
	{
		name: "all pictures to a known market",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), w.pictures(), "setApprovalForAll", addrSeaport, true)
		},
		want: truth{txType: api.TypeApproval, moves: []string{"alice"}},
	},
	{
		name: "right to all pictures taken back",
		script: func(w *world) common.Hash {
			w.call(who("alice"), w.pictures(), "setApprovalForAll", who("mallory").addr, true)
			return w.call(who("alice"), w.pictures(), "setApprovalForAll", who("mallory").addr, false)
		},
		want: truth{txType: api.TypeApproval, says: []string{"Took back"}, moves: []string{"alice"}},
	},
	{
		name: "EIP-2612 permit, sent by a relayer",
		script: func(w *world) common.Hash {
			alice, bob := who("alice"), who("bob")
			deadline := w.deadline()
			sig := alice.sign(typed(one[[32]byte](w, canon.usdc, "DOMAIN_SEPARATOR"),
				crypto.Keccak256([]byte("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")),
				alice.addr, bob.addr, usd("99"), 0, deadline))
			return w.call(who("relayer"), canon.usdc, "permit", alice.addr, bob.addr, usd("99"), deadline, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
		},
		want: truth{txType: api.TypeApproval, moves: []string{"alice", "relayer"}},
	},
	{
		name: "Dai's permit: all or nothing",
		script: func(w *world) common.Hash {
			alice, spender := who("alice"), who("mallory").addr
			sig := alice.sign(typed(one[[32]byte](w, canon.dai, "DOMAIN_SEPARATOR"),
				crypto.Keccak256([]byte("Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)")),
				alice.addr, spender, 0, 0, 1))
			return w.call(who("relayer"), canon.dai, "permit", alice.addr, spender, 0, 0, true, sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
		},
		want: truth{txType: api.TypeApproval, flags: []string{"unlimited_approval"}, moves: []string{"alice", "relayer"}},
	},
	{
		name: "Permit2 allowance",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.permit2, "approve", addrUSDC, addrUniversal, usd("20"), w.deadline())
		},
		want: truth{txType: api.TypeApproval, protocol: "permit2", moves: []string{"alice"}},
	},
	{
		name: "Permit2 allowance without limit to a stranger",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.permit2, "approve", addrUSDC, who("mallory").addr, maxUint160, w.deadline())
		},
		want: truth{txType: api.TypeApproval, protocol: "permit2", flags: []string{"unlimited_approval"}, moves: []string{"alice"}},
	},
	{
		name: "Permit2 permit, sent by a relayer",
		script: func(w *world) common.Hash {
			alice := who("alice")
			permit, sig := w.permit2(alice, addrUSDC, who("bob").addr, usd("64"))
			return w.call(who("relayer"), canon.permit2, "permit", alice.addr, permit, sig)
		},
		want: truth{txType: api.TypeApproval, protocol: "permit2", moves: []string{"alice", "relayer"}},
	},
	{
		name: "Permit2 lockdown",
		script: func(w *world) common.Hash {
			w.call(who("alice"), canon.permit2, "approve", addrUSDC, who("mallory").addr, maxUint160, w.deadline())
			return w.call(who("alice"), canon.permit2, "lockdown", list{tuple{addrUSDC, who("mallory").addr}})
		},
		want: truth{txType: api.TypeApproval, protocol: "permit2", says: []string{"Revoked"}, moves: []string{"alice"}},
	},
}

var maxUint160 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 160), big.NewInt(1))

// typed is the digest of EIP-712 of a struct without dynamic members.
func typed(domain [32]byte, typeHash []byte, members ...any) []byte {
	packed := typeHash
	for _, m := range members {
		packed = append(packed, word(m)...)
	}
	return crypto.Keccak256([]byte("\x19\x01"), domain[:], crypto.Keccak256(packed))
}

// permit2 is a permit of the first nonce, for an hour, and its signature.
func (w *world) permit2(a account, token, spender common.Address, amount *big.Int) (permit tuple, sig []byte) {
	w.tb.Helper()
	const (
		details = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)"
		single  = "PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)" + details
	)
	until := w.deadline()
	inner := crypto.Keccak256(crypto.Keccak256([]byte(details)), word(token), word(amount), word(until), word(0))
	domain := crypto.Keccak256(
		crypto.Keccak256([]byte("EIP712Domain(string name,uint256 chainId,address verifyingContract)")),
		crypto.Keccak256([]byte("Permit2")), word(1), word(addrPermit2))
	sig = a.sign(typed([32]byte(domain), crypto.Keccak256([]byte(single)), common.BytesToHash(inner), spender, until))
	return tuple{tuple{token, amount, until, 0}, spender, until}, sig
}
