// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {IERC20} from "./Tokens.sol";

/// A farm in the shape of Synthetix's StakingRewards: stake one token, earn another,
/// so much a second.
contract Farm {
    IERC20 public immutable stakingToken;
    IERC20 public immutable rewardsToken;
    uint256 public immutable rate; // rewards a second, of all
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    uint256 private perToken;
    uint256 private updated = block.timestamp;
    mapping(address => uint256) private paid;
    mapping(address => uint256) private rewards;

    event Staked(address indexed user, uint256 amount);
    event Withdrawn(address indexed user, uint256 amount);
    event RewardPaid(address indexed user, uint256 reward);

    constructor(IERC20 stakingToken_, IERC20 rewardsToken_, uint256 rate_) {
        stakingToken = stakingToken_;
        rewardsToken = rewardsToken_;
        rate = rate_;
    }

    modifier settle() {
        if (totalSupply > 0) perToken += (block.timestamp - updated) * rate * 1e18 / totalSupply;
        updated = block.timestamp;
        rewards[msg.sender] += balanceOf[msg.sender] * (perToken - paid[msg.sender]) / 1e18;
        paid[msg.sender] = perToken;
        _;
    }

    function stake(uint256 amount) external settle {
        totalSupply += amount;
        balanceOf[msg.sender] += amount;
        require(stakingToken.transferFrom(msg.sender, address(this), amount), "stake");
        emit Staked(msg.sender, amount);
    }

    function withdraw(uint256 amount) external settle {
        totalSupply -= amount;
        balanceOf[msg.sender] -= amount;
        require(stakingToken.transfer(msg.sender, amount), "stake");
        emit Withdrawn(msg.sender, amount);
    }

    function getReward() external settle {
        uint256 reward = rewards[msg.sender];
        rewards[msg.sender] = 0;
        require(rewardsToken.transfer(msg.sender, reward), "reward");
        emit RewardPaid(msg.sender, reward);
    }
}

/// The deposit contract of the beacon chain as far as a transaction shows it: its
/// call, its event, its bounds. The tree of deposits is left out.
contract BeaconDeposit {
    uint64 private count;

    event DepositEvent(bytes pubkey, bytes withdrawal_credentials, bytes amount, bytes signature, bytes index);

    function deposit(bytes calldata pubkey, bytes calldata credentials, bytes calldata signature, bytes32)
        external
        payable
    {
        require(pubkey.length == 48 && credentials.length == 32 && signature.length == 96, "length");
        require(msg.value >= 1 ether && msg.value % 1 gwei == 0, "value");
        emit DepositEvent(
            pubkey, credentials, littleEndian(uint64(msg.value / 1 gwei)), signature, littleEndian(count++)
        );
    }

    function littleEndian(uint64 n) private pure returns (bytes memory out) {
        out = new bytes(8);
        for (uint256 i = 0; i < 8; i++) {
            out[i] = bytes1(uint8(n >> (8 * i)));
        }
    }
}
