// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20FlashMint} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20FlashMint.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20 as IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20} from "./Tokens.sol";

/// One call of a plan. If `token` is set, the word of `data` at `at` is replaced by the
/// executor's balance of it: what a trade gave is not known in advance.
struct Step {
    address to;
    uint256 value;
    bytes data;
    address token;
    uint256 at;
}

/// Performs a list of calls. Lenders call back with the list for the time of the loan.
contract Executor {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    /// The entry point has no name: any selector, then the list. Only the owner, or the
    /// contract itself, may use it.
    fallback() external payable {
        require(msg.sender == owner || msg.sender == address(this), "not the owner");
        perform(msg.data[4:]);
    }

    /// Aave v3, one asset.
    function executeOperation(address asset, uint256 amount, uint256 fee, address by, bytes calldata plan)
        external
        returns (bool)
    {
        require(by == address(this), "not mine");
        perform(plan);
        IERC20(asset).approve(msg.sender, amount + fee);
        return true;
    }

    /// Aave v2 and v3, several assets. An asset whose debt stays open needs no repayment.
    function executeOperation(
        address[] calldata assets,
        uint256[] calldata amounts,
        uint256[] calldata fees,
        address by,
        bytes calldata plan
    ) external returns (bool) {
        require(by == address(this), "not mine");
        perform(plan);
        for (uint256 i; i < assets.length; i++) IERC20(assets[i]).approve(msg.sender, amounts[i] + fees[i]);
        return true;
    }

    /// ERC-3156.
    function onFlashLoan(address by, address token, uint256 amount, uint256 fee, bytes calldata plan)
        external
        returns (bytes32)
    {
        require(by == address(this), "not mine");
        perform(plan);
        IERC20(token).approve(msg.sender, amount + fee);
        return keccak256("ERC3156FlashBorrower.onFlashLoan");
    }

    /// Balancer: the fee is nothing, and the loan is sent back.
    function receiveFlashLoan(
        address[] calldata tokens,
        uint256[] calldata amounts,
        uint256[] calldata fees,
        bytes calldata plan
    ) external {
        perform(plan);
        for (uint256 i; i < tokens.length; i++) IERC20(tokens[i]).transfer(msg.sender, amounts[i] + fees[i]);
    }

    /// Uniswap v2: the plan pays the pair back.
    function uniswapV2Call(address by, uint256, uint256, bytes calldata plan) external {
        require(by == address(this), "not mine");
        perform(plan);
    }

    /// Uniswap v3: the plan pays the pool back.
    function uniswapV3FlashCallback(uint256, uint256, bytes calldata plan) external {
        perform(plan);
    }

    /// Uniswap v4: the plan takes and settles.
    function unlockCallback(bytes calldata plan) external returns (bytes memory) {
        perform(plan);
        return "";
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return this.onERC721Received.selector;
    }

    function perform(bytes calldata plan) private {
        Step[] memory steps = abi.decode(plan, (Step[]));
        for (uint256 i; i < steps.length; i++) {
            Step memory s = steps[i];
            bytes memory data = s.data;
            if (s.token != address(0)) {
                (uint256 held, uint256 at) = (IERC20(s.token).balanceOf(address(this)), s.at);
                assembly {
                    mstore(add(add(data, 32), at), held)
                }
            }
            (bool ok, bytes memory why) = s.to.call{value: s.value}(data);
            if (!ok) {
                assembly {
                    revert(add(why, 32), mload(why))
                }
            }
        }
    }
}

/// Makes an executor and uses it in the transaction that creates this contract.
contract OneShot {
    constructor(bytes memory plan) payable {
        Executor made = new Executor(address(this));
        (bool ok, bytes memory why) = address(made).call{value: msg.value}(bytes.concat(hex"00000001", plan));
        if (!ok) {
            assembly {
                revert(add(why, 32), mload(why))
            }
        }
    }
}

/// Pays the producer of the block all coins that it is called with.
contract Tipper {
    fallback() external payable {
        (bool ok,) = block.coinbase.call{value: msg.value}("");
        require(ok, "not paid");
    }
}

/// A stablecoin that mints flash loans by ERC-3156 (OpenZeppelin), for a fee.
contract FlashMinted is ERC20FlashMint {
    uint256 private immutable points;

    constructor(uint256 points_) ERC20("Flash Dollar", "FUSD") {
        points = points_;
    }

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    function _flashFee(address, uint256 value) internal view override returns (uint256) {
        return value * points / 10_000;
    }

    function _flashFeeReceiver() internal view override returns (address) {
        return points == 0 ? address(0) : address(this);
    }
}

/// A vault by ERC-4626 (OpenZeppelin).
contract ShareVault is ERC4626 {
    constructor(IERC20Metadata asset_) ERC20("Vault share", "vSHARE") ERC4626(asset_) {}
}

/// Sells tokens to those it granted them to, at a fixed price in cash.
contract OptionGrants {
    IERC20 public immutable token;
    IERC20 public immutable cash;
    uint256 public immutable strike; // cash for 1e18 tokens
    mapping(address => uint256) public granted;
    address private immutable issuer = msg.sender;

    event Claimed(address indexed account, uint256 amount, uint256 paid);

    constructor(IERC20 token_, IERC20 cash_, uint256 strike_) {
        (token, cash, strike) = (token_, cash_, strike_);
    }

    function grant(address account, uint256 amount) external {
        require(msg.sender == issuer, "not the issuer");
        granted[account] += amount;
    }

    function claim(uint256 amount) external {
        granted[msg.sender] -= amount;
        uint256 paid = amount * strike / 1e18;
        require(cash.transferFrom(msg.sender, issuer, paid), "cash");
        require(token.transfer(msg.sender, amount), "token");
        emit Claimed(msg.sender, amount, paid);
    }
}
