// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20, Shares} from "./Tokens.sol";

/// A tokenised vault in the shape of ERC-4626, of which only the rate of conversion is
/// left open.
abstract contract TokenVault is Shares {
    IERC20 private immutable underlying;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );

    constructor(IERC20 asset_) {
        underlying = asset_;
    }

    function asset() external view returns (address) {
        return address(underlying);
    }

    function totalAssets() public view returns (uint256) {
        return underlying.balanceOf(address(this));
    }

    /// Rounded down, for deposits.
    function convertToShares(uint256 assets) public view virtual returns (uint256);

    /// Rounded down, for redemptions.
    function convertToAssets(uint256 shares) public view virtual returns (uint256);

    /// Shares that a withdrawal costs.
    function previewWithdraw(uint256 assets) public view virtual returns (uint256);

    function deposit(uint256 assets, address receiver) external returns (uint256 shares) {
        shares = convertToShares(assets);
        require(underlying.transferFrom(msg.sender, address(this), assets), "asset");
        give(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets) {
        assets = convertToAssets(shares);
        pay(assets, shares, receiver, owner);
    }

    function withdraw(uint256 assets, address receiver, address owner) external returns (uint256 shares) {
        shares = previewWithdraw(assets);
        pay(assets, shares, receiver, owner);
    }

    function pay(uint256 assets, uint256 shares, address receiver, address owner) private {
        if (msg.sender != owner) allowance[owner][msg.sender] -= shares;
        give(owner, address(0), shares);
        require(underlying.transfer(receiver, assets), "asset");
        emit Withdraw(msg.sender, receiver, owner, assets, shares);
    }
}

/// Counts what it holds as its assets and starts at one share for one unit: a gift to
/// the vault while there is one share makes that share so dear that the next deposit
/// buys none.
contract NaiveVault is TokenVault {
    constructor(IERC20 asset_) TokenVault(asset_) {}

    function convertToShares(uint256 assets) public view override returns (uint256) {
        return totalSupply == 0 ? assets : assets * totalSupply / totalAssets();
    }

    function convertToAssets(uint256 shares) public view override returns (uint256) {
        return totalSupply == 0 ? shares : shares * totalAssets() / totalSupply;
    }

    function previewWithdraw(uint256 assets) public view virtual override returns (uint256) {
        return totalSupply == 0 ? assets : (assets * totalSupply + totalAssets() - 1) / totalAssets();
    }
}

/// The sound twin: a million shares and one unit that nobody owns stand in every rate,
/// so that a gift goes to them and not to the giver.
contract VirtualShareVault is TokenVault {
    uint256 private constant VIRTUAL = 1e6;

    constructor(IERC20 asset_) TokenVault(asset_) {}

    function convertToShares(uint256 assets) public view override returns (uint256) {
        return assets * (totalSupply + VIRTUAL) / (totalAssets() + 1);
    }

    function convertToAssets(uint256 shares) public view override returns (uint256) {
        return shares * (totalAssets() + 1) / (totalSupply + VIRTUAL);
    }

    function previewWithdraw(uint256 assets) public view override returns (uint256) {
        return (assets * (totalSupply + VIRTUAL) + totalAssets()) / (totalAssets() + 1);
    }
}

/// Collects the deposits of many and puts them into the vault when anybody asks.
contract DepositQueue {
    TokenVault public immutable vault;
    IERC20 public immutable asset;
    mapping(address => uint256) public queued;

    event Queued(address indexed account, uint256 assets);
    event Flushed(uint256 assets, uint256 shares);

    constructor(TokenVault vault_, IERC20 asset_) {
        vault = vault_;
        asset = asset_;
    }

    function enqueue(uint256 assets) external {
        require(asset.transferFrom(msg.sender, address(this), assets), "asset");
        queued[msg.sender] += assets;
        emit Queued(msg.sender, assets);
    }

    function flush() external {
        uint256 assets = asset.balanceOf(address(this));
        asset.approve(address(vault), assets);
        emit Flushed(assets, vault.deposit(assets, address(this)));
    }
}

/// Deposits, gives, lets the queue deposit, and redeems: what an attacker does to an
/// empty vault, and, with other sums, what a keeper does that pays out rewards.
contract Depositor {
    function run(TokenVault vault, IERC20 asset, DepositQueue queue, uint256 assets, uint256 gift) external {
        asset.approve(address(vault), assets);
        uint256 shares = vault.deposit(assets, address(this));
        if (gift > 0) asset.transfer(address(vault), gift);
        queue.flush();
        vault.redeem(shares, address(this), address(this));
        asset.transfer(msg.sender, asset.balanceOf(address(this)));
    }
}
