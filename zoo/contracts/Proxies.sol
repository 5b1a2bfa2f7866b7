// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Ownable2Step, Ownable} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// What stands behind the proxies: counts, for whoever is its owner.
contract Counter is UUPSUpgradeable {
    address public owner;
    uint256 public count;

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event Counted(address indexed by, uint256 count);

    function initialize(address owner_) external {
        require(owner == address(0), "initialized");
        emit OwnershipTransferred(address(0), owner_);
        owner = owner_;
    }

    function increment() external virtual {
        emit Counted(msg.sender, ++count);
    }

    function _authorizeUpgrade(address) internal view override {
        require(msg.sender == owner, "not the owner");
    }
}

/// Its next version counts in tens.
contract CounterByTen is Counter {
    function increment() external override {
        count += 10;
        emit Counted(msg.sender, count);
    }
}

/// Makes clones of one contract: bare ones (EIP-1167), and ones with arguments behind
/// their code.
contract CloneMaker {
    event Cloned(address indexed clone);

    function make(address implementation) external returns (address clone) {
        clone = Clones.clone(implementation);
        emit Cloned(clone);
    }

    function makeWith(address implementation, bytes calldata args) external returns (address clone) {
        clone = Clones.cloneWithImmutableArgs(implementation, args);
        emit Cloned(clone);
    }
}

/// A contract that has all the switches an administrator turns.
contract Ward is Ownable2Step, AccessControl, Pausable {
    constructor(address owner_) Ownable(owner_) {
        _grantRole(DEFAULT_ADMIN_ROLE, owner_);
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }
}

/// Cannot be made: its constructor refuses.
contract Stillborn {
    constructor(uint256 n) {
        require(n > 100, "too small");
    }
}
