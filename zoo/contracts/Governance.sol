// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {GovernorTimelockControl} from "@openzeppelin/contracts/governance/extensions/GovernorTimelockControl.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// A token that votes: OpenZeppelin's parts, put together as its wizard does.
contract VoteToken is ERC20, ERC20Permit, ERC20Votes {
    constructor(address holder, uint256 supply) ERC20("Zoo votes", "VOTE") ERC20Permit("Zoo votes") {
        _mint(holder, supply);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }

    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }
}

/// A governor with a timelock and periods of a few blocks, so that a whole life of a
/// proposal fits a test.
contract ZooGovernor is Governor, GovernorCountingSimple, GovernorVotes, GovernorTimelockControl {
    constructor(IVotes token, TimelockController timelock)
        Governor("Zoo governor")
        GovernorVotes(token)
        GovernorTimelockControl(timelock)
    {}

    function votingDelay() public pure override returns (uint256) {
        return 1;
    }

    function votingPeriod() public pure override returns (uint256) {
        return 4;
    }

    function quorum(uint256) public pure override returns (uint256) {
        return 1000e18;
    }

    function state(uint256 id) public view override(Governor, GovernorTimelockControl) returns (ProposalState) {
        return super.state(id);
    }

    function proposalNeedsQueuing(uint256 id) public view override(Governor, GovernorTimelockControl) returns (bool) {
        return super.proposalNeedsQueuing(id);
    }

    function _queueOperations(uint256 id, address[] memory to, uint256[] memory value, bytes[] memory data, bytes32 d)
        internal
        override(Governor, GovernorTimelockControl)
        returns (uint48)
    {
        return super._queueOperations(id, to, value, data, d);
    }

    function _executeOperations(uint256 id, address[] memory to, uint256[] memory value, bytes[] memory data, bytes32 d)
        internal
        override(Governor, GovernorTimelockControl)
    {
        super._executeOperations(id, to, value, data, d);
    }

    function _cancel(address[] memory to, uint256[] memory value, bytes[] memory data, bytes32 d)
        internal
        override(Governor, GovernorTimelockControl)
        returns (uint256)
    {
        return super._cancel(to, value, data, d);
    }

    function _executor() internal view override(Governor, GovernorTimelockControl) returns (address) {
        return super._executor();
    }
}
