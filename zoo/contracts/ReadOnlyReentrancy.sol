// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20, Shares} from "./Tokens.sol";

/// A pool of ether and one token of equal worth, as pools of staked ether are. Nobody
/// can enter it twice, and its sums are right in the end; but while it pays the ether
/// out the shares are burnt and the token is still here, so its price per share, which
/// others read, is too high for that moment.
contract TwoAssetPool is Shares {
    IERC20 public immutable token;
    bool private entered;

    event AddLiquidity(address indexed provider, uint256 ethAmount, uint256 tokenAmount, uint256 shares);
    event RemoveLiquidity(address indexed provider, uint256 ethAmount, uint256 tokenAmount, uint256 shares);

    modifier once() {
        require(!entered, "entered");
        entered = true;
        _;
        entered = false;
    }

    constructor(IERC20 token_) {
        token = token_;
    }

    /// What a share is worth in ether, with 18 decimals. No guard: it only reads.
    function get_virtual_price() external view returns (uint256) {
        return (address(this).balance + token.balanceOf(address(this))) * 1e18 / totalSupply;
    }

    /// Half of each: as many tokens as ether comes.
    function add_liquidity() external payable once returns (uint256 shares) {
        uint256 before = address(this).balance - msg.value;
        shares = totalSupply == 0 ? msg.value * 2 : msg.value * totalSupply / before;
        require(token.transferFrom(msg.sender, address(this), msg.value), "token");
        give(address(0), msg.sender, shares);
        emit AddLiquidity(msg.sender, msg.value, msg.value, shares);
    }

    function remove_liquidity(uint256 shares) external once {
        uint256 etherOut = address(this).balance * shares / totalSupply;
        uint256 tokenOut = token.balanceOf(address(this)) * shares / totalSupply;
        give(msg.sender, address(0), shares);
        (bool ok,) = msg.sender.call{value: etherOut}("");
        require(ok, "payment refused");
        require(token.transfer(msg.sender, tokenOut), "token");
        emit RemoveLiquidity(msg.sender, etherOut, tokenOut, shares);
    }
}

/// Lends the token against shares of the pool, at 80 % of what the pool says they are
/// worth at that moment. That it may be asked in the middle of a withdrawal is what it
/// forgot.
contract ShareLender {
    TwoAssetPool public immutable pool;
    IERC20 public immutable asset;
    mapping(address => uint256) public collateral;
    mapping(address => uint256) public debt;

    event Pledge(address indexed account, uint256 shares);
    event Loan(address indexed account, uint256 amount);

    constructor(TwoAssetPool pool_, IERC20 asset_) {
        pool = pool_;
        asset = asset_;
    }

    function pledge(uint256 shares) external {
        require(pool.transferFrom(msg.sender, address(this), shares), "shares");
        collateral[msg.sender] += shares;
        emit Pledge(msg.sender, shares);
    }

    function loan(uint256 amount) external {
        uint256 worth = collateral[msg.sender] * pool.get_virtual_price() / 1e18;
        debt[msg.sender] += amount;
        require(debt[msg.sender] <= worth * 80 / 100, "too much debt");
        require(asset.transfer(msg.sender, amount), "asset");
        emit Loan(msg.sender, amount);
    }
}

/// Adds liquidity, pledges a part of the shares, takes the rest out again and borrows:
/// in the middle of the withdrawal, or after it.
contract PoolBorrower {
    TwoAssetPool private immutable pool;
    ShareLender private immutable lender;
    uint256 private amount;
    bool private inside;

    constructor(TwoAssetPool pool_, ShareLender lender_) {
        pool = pool_;
        lender = lender_;
    }

    function run(uint256 pledged, uint256 amount_, bool inside_) external payable {
        amount = amount_;
        inside = inside_;
        IERC20 token = pool.token();
        token.approve(address(pool), msg.value);
        uint256 shares = pool.add_liquidity{value: msg.value}();
        pool.approve(address(lender), pledged);
        lender.pledge(pledged);
        pool.remove_liquidity(shares - pledged);
        if (!inside) lender.loan(amount);
        token.transfer(msg.sender, token.balanceOf(address(this)));
        IERC20 asset = lender.asset();
        asset.transfer(msg.sender, asset.balanceOf(address(this)));
        (bool ok,) = msg.sender.call{value: address(this).balance}("");
        require(ok, "payment refused");
    }

    receive() external payable {
        if (inside && msg.sender == address(pool)) lender.loan(amount);
    }
}
