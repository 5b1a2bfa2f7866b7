// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20, Shares} from "./Tokens.sol";

/// A market in the shape of Compound v2: its events and calls, with a rate of one and
/// prices that its admin sets. What is borrowed is held against pledges in another
/// market of the same kind.
contract CMarket is Shares {
    IERC20 public immutable underlying;
    address private immutable admin = msg.sender;
    CMarket public collateralMarket;
    uint256 public price = 1e18; // of one collateral unit, in units of the underlying
    mapping(address => uint256) public borrowed;
    uint256 public totalBorrows;

    event Mint(address minter, uint256 mintAmount, uint256 mintTokens);
    event Redeem(address redeemer, uint256 redeemAmount, uint256 redeemTokens);
    event Borrow(address borrower, uint256 borrowAmount, uint256 accountBorrows, uint256 totalBorrows);
    event RepayBorrow(
        address payer, address borrower, uint256 repayAmount, uint256 accountBorrows, uint256 totalBorrows
    );
    event LiquidateBorrow(
        address liquidator, address borrower, uint256 repayAmount, address cTokenCollateral, uint256 seizeTokens
    );

    constructor(IERC20 underlying_) {
        underlying = underlying_;
    }

    function setUp(CMarket collateralMarket_, uint256 price_) external {
        require(msg.sender == admin, "not the admin");
        collateralMarket = collateralMarket_;
        price = price_;
    }

    function mint(uint256 amount) external returns (uint256) {
        require(underlying.transferFrom(msg.sender, address(this), amount), "underlying");
        emit Mint(msg.sender, amount, amount);
        give(address(0), msg.sender, amount);
        return 0;
    }

    function redeem(uint256 amount) external returns (uint256) {
        give(msg.sender, address(0), amount);
        require(underlying.transfer(msg.sender, amount), "underlying");
        emit Redeem(msg.sender, amount, amount);
        return 0;
    }

    function borrow(uint256 amount) external returns (uint256) {
        borrowed[msg.sender] += amount;
        totalBorrows += amount;
        require(borrowed[msg.sender] <= limit(msg.sender), "too much debt");
        require(underlying.transfer(msg.sender, amount), "underlying");
        emit Borrow(msg.sender, amount, borrowed[msg.sender], totalBorrows);
        return 0;
    }

    function repayBorrow(uint256 amount) external returns (uint256) {
        repay(msg.sender, msg.sender, amount);
        return 0;
    }

    /// Repays for a borrower who owes too much and takes the pledge with 8 % on top.
    function liquidateBorrow(address borrower, uint256 amount, CMarket collateral) external returns (uint256) {
        require(collateral == collateralMarket && borrowed[borrower] > limit(borrower), "sound");
        repay(msg.sender, borrower, amount);
        uint256 seized = amount * 1e18 / price * 108 / 100;
        emit LiquidateBorrow(msg.sender, borrower, amount, address(collateral), seized);
        collateral.seize(msg.sender, borrower, seized);
        return 0;
    }

    /// Trusts the caller, as markets of one comptroller do: here, who made this one.
    mapping(address => bool) public friend;

    function befriend(address market) external {
        require(msg.sender == admin, "not the admin");
        friend[market] = true;
    }

    function seize(address liquidator, address borrower, uint256 amount) external {
        require(friend[msg.sender], "not a market");
        give(borrower, liquidator, amount);
    }

    function limit(address account) private view returns (uint256) {
        return collateralMarket.balanceOf(account) * price / 1e18 * 75 / 100;
    }

    function repay(address payer, address borrower, uint256 amount) private {
        require(underlying.transferFrom(payer, address(this), amount), "underlying");
        borrowed[borrower] -= amount;
        totalBorrows -= amount;
        emit RepayBorrow(payer, borrower, amount, borrowed[borrower], totalBorrows);
    }
}

interface IFlashPool {
    function flashLoanSimple(address receiver, address asset, uint256 amount, bytes calldata params, uint16 code) external;
    function supply(address asset, uint256 amount, address onBehalfOf, uint16 code) external;
    function repay(address asset, uint256 amount, uint256 mode, address onBehalfOf) external returns (uint256);
}

/// Borrows from Aave for the length of a call, and pays back with its maker's money.
contract FlashUser {
    address private immutable boss = msg.sender;
    IFlashPool private immutable pool;

    constructor(IFlashPool pool_) {
        pool = pool_;
    }

    function run(address asset, uint256 amount) external {
        require(msg.sender == boss, "not the boss");
        pool.flashLoanSimple(address(this), asset, amount, "", 0);
    }

    function executeOperation(address asset, uint256 amount, uint256 fee, address, bytes calldata)
        external
        returns (bool)
    {
        require(msg.sender == address(pool), "not the pool");
        IERC20(asset).transferFrom(boss, address(this), fee);
        IERC20(asset).approve(address(pool), amount + fee);
        return true;
    }
}
