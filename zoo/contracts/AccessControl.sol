// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";

/// Holds tokens for its owner. That setOwner asks nobody who they are is the flaw.
contract OpenSafeBox {
    address public owner = msg.sender; // slot 0

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    function setOwner(address newOwner) external {
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function sweep(IERC20 token, address to) external {
        require(msg.sender == owner, "not the owner");
        require(token.transfer(to, token.balanceOf(address(this))), "token");
    }
}

/// The sound twin asks.
contract OwnedSafeBox {
    address public owner = msg.sender; // slot 0

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    function setOwner(address newOwner) external {
        require(msg.sender == owner, "not the owner");
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function sweep(IERC20 token, address to) external {
        require(msg.sender == owner, "not the owner");
        require(token.transfer(to, token.balanceOf(address(this))), "token");
    }
}

interface ISafeBox {
    function setOwner(address) external;
    function sweep(IERC20, address) external;
}

/// Takes a box over and empties it, or, where its caller owns the box through it, moves
/// what is in there and hands the box to somebody else.
contract BoxMover {
    address private immutable boss = msg.sender;

    function takeAndEmpty(ISafeBox box, IERC20 token) external {
        require(msg.sender == boss, "not the boss");
        box.setOwner(address(this));
        box.sweep(token, msg.sender);
    }

    function initAndEmpty(LateSafeBox box, IERC20 token) external {
        require(msg.sender == boss, "not the boss");
        box.initialize(address(this));
        box.sweep(token, msg.sender);
    }

    function emptyAndHandOver(ISafeBox box, IERC20 token, address heir) external {
        require(msg.sender == boss, "not the boss");
        box.sweep(token, msg.sender);
        box.setOwner(heir);
    }
}

/// A token whose mint forgot to ask for the minter.
contract OpenMintToken {
    string public constant name = "Open mint";
    string public constant symbol = "OPEN";
    uint8 public constant decimals = 18;
    address public owner = msg.sender; // slot 0
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    bool private immutable guarded;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(bool guarded_) {
        guarded = guarded_;
    }

    function mint(address to, uint256 value) external {
        require(!guarded || msg.sender == owner, "not the owner");
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(balanceOf[msg.sender] >= value, "balance");
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Behind a proxy that nobody initialised, anybody becomes the owner.
contract LateSafeBox {
    address public owner; // slot 0
    bool private initialized;

    event Initialized(uint64 version);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    function initialize(address newOwner) external {
        require(!initialized, "initialized");
        initialized = true;
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
        emit Initialized(1);
    }

    function sweep(IERC20 token, address to) external {
        require(msg.sender == owner, "not the owner");
        require(token.transfer(to, token.balanceOf(address(this))), "token");
    }
}

/// Handed over in two steps: who was named takes it, which is a call by somebody who
/// is not the owner yet.
contract TwoStepSafeBox {
    address public owner = msg.sender; // slot 0
    address public pendingOwner; // slot 1

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    function transferOwnership(address newOwner) external {
        require(msg.sender == owner, "not the owner");
        pendingOwner = newOwner;
    }

    /// Under the name that the flawed boxes have, so that the calls look alike.
    function setOwner(address newOwner) external {
        require(msg.sender == pendingOwner && newOwner == pendingOwner, "not named");
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
        pendingOwner = address(0);
    }

    function sweep(IERC20 token, address to) external {
        require(msg.sender == owner, "not the owner");
        require(token.transfer(to, token.balanceOf(address(this))), "token");
    }
}
