// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";

interface IPair {
    function token0() external view returns (address);
    function getReserves() external view returns (uint112, uint112, uint32);
    function swap(uint256, uint256, address, bytes calldata) external;
}

interface IFeed {
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80);
}

interface IBorrower {
    function onFlashLoan(address, address, uint256, uint256, bytes calldata) external returns (bytes32);
}

interface ILender {
    function pledge(uint256) external;
    function loan(uint256) external;
}

/// Lends for the length of a call, as ERC-3156 says, for a fee of 0.05 %.
contract FlashBank {
    bytes32 private constant DONE = keccak256("ERC3156FlashBorrower.onFlashLoan");

    function flashFee(address, uint256 amount) public pure returns (uint256) {
        return amount / 2000;
    }

    function flashLoan(address receiver, address token, uint256 amount, bytes calldata data) external returns (bool) {
        uint256 fee = flashFee(token, amount);
        require(IERC20(token).transfer(receiver, amount), "loan");
        require(IBorrower(receiver).onFlashLoan(msg.sender, token, amount, fee, data) == DONE, "callback");
        require(IERC20(token).transferFrom(receiver, address(this), amount + fee), "repayment");
        return true;
    }
}

/// A feed that its keeper writes, in the shape of a Chainlink aggregator.
contract Feed is IFeed {
    address private immutable keeper = msg.sender;
    int256 private answer;
    uint80 private round;
    uint256 private updatedAt;

    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    function transmit(int256 answer_) external {
        require(msg.sender == keeper, "not the keeper");
        answer = answer_;
        updatedAt = block.timestamp;
        emit AnswerUpdated(answer_, ++round, block.timestamp);
    }

    function latestAnswer() external view returns (int256) {
        return answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (round, answer, updatedAt, updatedAt, round);
    }
}

/// Lends cash against a token, at 75 % of its price; where the price comes from is the
/// difference between the two below.
abstract contract PricedLender {
    IERC20 public immutable token;
    IERC20 public immutable cash;
    mapping(address => uint256) public collateral;
    mapping(address => uint256) public debt;

    event Pledge(address indexed account, uint256 amount);
    event Loan(address indexed account, uint256 amount);

    constructor(IERC20 token_, IERC20 cash_) {
        token = token_;
        cash = cash_;
    }

    /// Cash for one token, with 18 decimals.
    function price() public view virtual returns (uint256);

    function pledge(uint256 amount) external {
        require(token.transferFrom(msg.sender, address(this), amount), "token");
        collateral[msg.sender] += amount;
        emit Pledge(msg.sender, amount);
    }

    function loan(uint256 amount) external {
        debt[msg.sender] += amount;
        require(debt[msg.sender] <= collateral[msg.sender] * price() / 1e18 * 75 / 100, "too much debt");
        require(cash.transfer(msg.sender, amount), "cash");
        emit Loan(msg.sender, amount);
    }
}

/// Believes the reserves of a pair as they stand, which one swap can move.
contract SpotLender is PricedLender {
    IPair public immutable pair;

    constructor(IPair pair_, IERC20 token_, IERC20 cash_) PricedLender(token_, cash_) {
        pair = pair_;
    }

    function price() public view override returns (uint256) {
        (uint112 r0, uint112 r1,) = pair.getReserves();
        (uint256 t, uint256 c) = pair.token0() == address(token) ? (r0, r1) : (r1, r0);
        return c * 1e18 / t;
    }
}

/// Believes a feed that no swap moves.
contract FeedLender is PricedLender {
    IFeed public immutable feed;

    constructor(IFeed feed_, IERC20 token_, IERC20 cash_) PricedLender(token_, cash_) {
        feed = feed_;
    }

    function price() public view override returns (uint256) {
        (, int256 answer,,,) = feed.latestRoundData();
        return uint256(answer);
    }
}

/// Borrows cash for the length of a call and buys tokens of a pair with it. What then
/// follows is up to the plan: pledge some and borrow against them, sell others, or sell
/// all in a second pair where they are dearer.
contract FlashTrader is IBorrower {
    struct Plan {
        IPair pair;
        IPair second; // where the rest is sold; may be the same
        ILender lender; // zero: nothing is pledged
        IERC20 token;
        IERC20 cash;
        uint256 pledged;
        uint256 loaned;
    }

    FlashBank private immutable bank;

    constructor(FlashBank bank_) {
        bank = bank_;
    }

    function run(Plan calldata plan, uint256 amount) external {
        bank.flashLoan(address(this), address(plan.cash), amount, abi.encode(plan));
        plan.cash.transfer(msg.sender, plan.cash.balanceOf(address(this)));
    }

    function onFlashLoan(address, address, uint256 amount, uint256 fee, bytes calldata data)
        external
        override
        returns (bytes32)
    {
        require(msg.sender == address(bank), "not the bank");
        Plan memory p = abi.decode(data, (Plan));
        sell(p.pair, p.cash, amount);
        if (address(p.lender) != address(0)) {
            p.token.approve(address(p.lender), p.pledged);
            p.lender.pledge(p.pledged);
            p.lender.loan(p.loaned);
        }
        uint256 rest = p.token.balanceOf(address(this));
        if (rest > 0) sell(p.second, p.token, rest);
        p.cash.approve(address(bank), amount + fee);
        return keccak256("ERC3156FlashBorrower.onFlashLoan");
    }

    /// Sells to a pair of Uniswap v2, at its price after the fee of 0.3 %.
    function sell(IPair pair, IERC20 what, uint256 amount) private {
        bool first = pair.token0() == address(what);
        (uint112 r0, uint112 r1,) = pair.getReserves();
        (uint256 a, uint256 b) = first ? (r0, r1) : (r1, r0);
        uint256 out = amount * 997 * b / (a * 1000 + amount * 997);
        what.transfer(address(pair), amount);
        pair.swap(first ? 0 : out, first ? out : 0, address(this), "");
    }
}
