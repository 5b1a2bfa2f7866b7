// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";

/// Swaps through whatever exchange its caller names. Users approve it for their
/// tokens; that the target may be such a token, and the call a transferFrom out of
/// somebody else's account, is the flaw.
contract FreeRouter {
    event Routed(address indexed caller, address indexed target, uint256 amountIn);

    function route(IERC20 tokenIn, uint256 amountIn, address payee, address target, bytes calldata data) external {
        if (amountIn > 0) require(tokenIn.transferFrom(msg.sender, payee, amountIn), "token");
        (bool ok,) = target.call(data);
        require(ok, "target");
        emit Routed(msg.sender, target, amountIn);
    }
}

/// Makes whatever call its owner wants, and nobody else's: customers approve it for
/// what they owe.
contract Collector {
    address private immutable owner = msg.sender;

    function collect(address target, bytes calldata data) external {
        require(msg.sender == owner, "not the owner");
        (bool ok,) = target.call(data);
        require(ok, "target");
    }
}

/// Calls the router for its maker, and hands on what came in: an account that is a
/// contract, as bots and wallets have them.
contract RouteCaller {
    address private immutable boss = msg.sender;

    function run(FreeRouter router, IERC20 tokenIn, uint256 amountIn, address payee, address target, bytes calldata data)
        external
    {
        require(msg.sender == boss, "not the boss");
        if (amountIn > 0) {
            tokenIn.transferFrom(msg.sender, address(this), amountIn);
            tokenIn.approve(address(router), amountIn);
        }
        router.route(tokenIn, amountIn, payee, target, data);
        uint256 got = tokenIn.balanceOf(address(this));
        if (got > 0) tokenIn.transfer(msg.sender, got);
    }
}
