// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";

/// Keeps tokens that a key may release by signature, whoever brings it. An account that
/// never named a key has the key zero, which is also what ecrecover says of nonsense.
contract ZeroKeyVault {
    IERC20 public immutable token;
    mapping(address => uint256) public balances;
    mapping(address => address) public keyOf;
    mapping(address => uint256) public nonces;

    event Released(address indexed account, address indexed to, uint256 amount);

    constructor(IERC20 token_) {
        token = token_;
    }

    function deposit(uint256 amount) external {
        require(token.transferFrom(msg.sender, address(this), amount), "token");
        balances[msg.sender] += amount;
    }

    function setKey(address key) external {
        keyOf[msg.sender] = key;
    }

    function digest(address account, address to, uint256 amount, uint256 nonce) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), account, to, amount, nonce));
    }

    function release(address account, address to, uint256 amount, uint8 v, bytes32 r, bytes32 s) external virtual {
        address signer = ecrecover(digest(account, to, amount, nonces[account]++), v, r, s);
        require(signer == keyOf[account], "wrong key"); // zero equals zero
        pay(account, to, amount);
    }

    function pay(address account, address to, uint256 amount) internal {
        balances[account] -= amount;
        require(token.transfer(to, amount), "token");
        emit Released(account, to, amount);
    }
}

/// Recovers the signer and only looks that there is one: anybody's signature will do.
contract AnyKeyVault is ZeroKeyVault {
    constructor(IERC20 token_) ZeroKeyVault(token_) {}

    function release(address account, address to, uint256 amount, uint8 v, bytes32 r, bytes32 s) external override {
        address signer = ecrecover(digest(account, to, amount, nonces[account]++), v, r, s);
        require(signer != address(0), "no signature");
        pay(account, to, amount);
    }
}

/// The sound twin: there must be a key, and it must be the signer.
contract KeyedVault is ZeroKeyVault {
    constructor(IERC20 token_) ZeroKeyVault(token_) {}

    function release(address account, address to, uint256 amount, uint8 v, bytes32 r, bytes32 s) external override {
        address signer = ecrecover(digest(account, to, amount, nonces[account]++), v, r, s);
        require(signer != address(0) && signer == keyOf[account], "wrong key");
        pay(account, to, amount);
    }
}
