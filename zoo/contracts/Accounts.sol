// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// What an ordinary account runs as by EIP-7702: batches, of nobody's but its own.
contract BatchDelegate {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    error NotSelf();

    function execute(Call[] calldata calls) external payable {
        if (msg.sender != address(this)) revert NotSelf();
        for (uint256 i = 0; i < calls.length; i++) {
            (bool ok, bytes memory why) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!ok) {
                assembly {
                    revert(add(why, 32), mload(why))
                }
            }
        }
    }

    receive() external payable {}
}

interface ISafeModuleHost {
    function execTransactionFromModule(address to, uint256 value, bytes calldata data, uint8 operation)
        external
        returns (bool);
}

/// A module of a Safe: its keeper may spend small sums without the owners.
contract AllowanceModule {
    address public immutable keeper = msg.sender;
    uint256 public constant LIMIT = 1 ether;

    function spend(ISafeModuleHost safe, address to, uint256 value) external {
        require(msg.sender == keeper && value <= LIMIT, "not allowed");
        require(safe.execTransactionFromModule(to, value, "", 0), "safe");
    }
}
