// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// A diamond as EIP-2535 says: selectors are served by facets, a cut changes which.
contract Diamond {
    enum Action {
        Add,
        Replace,
        Remove
    }

    struct FacetCut {
        address facetAddress;
        Action action;
        bytes4[] functionSelectors;
    }

    struct Storage {
        address owner;
        mapping(bytes4 => address) facetOf;
        address[] facets;
        mapping(address => bytes4[]) selectorsOf;
    }

    event DiamondCut(FacetCut[] _diamondCut, address _init, bytes _calldata);

    constructor(address owner) {
        at().owner = owner;
    }

    function at() private pure returns (Storage storage s) {
        bytes32 slot = keccak256("diamond.standard.diamond.storage");
        assembly {
            s.slot := slot
        }
    }

    function diamondCut(FacetCut[] calldata cut, address init, bytes calldata data) external {
        Storage storage s = at();
        require(msg.sender == s.owner, "not the owner");
        for (uint256 i = 0; i < cut.length; i++) {
            if (s.selectorsOf[cut[i].facetAddress].length == 0) s.facets.push(cut[i].facetAddress);
            for (uint256 k = 0; k < cut[i].functionSelectors.length; k++) {
                bytes4 selector = cut[i].functionSelectors[k];
                s.facetOf[selector] = cut[i].action == Action.Remove ? address(0) : cut[i].facetAddress;
                s.selectorsOf[cut[i].facetAddress].push(selector);
            }
        }
        emit DiamondCut(cut, init, data);
        if (init != address(0)) {
            (bool ok,) = init.delegatecall(data);
            require(ok, "init");
        }
    }

    function facetAddresses() external view returns (address[] memory) {
        return at().facets;
    }

    function facetAddress(bytes4 selector) external view returns (address) {
        return at().facetOf[selector];
    }

    function facetFunctionSelectors(address facet) external view returns (bytes4[] memory) {
        return at().selectorsOf[facet];
    }

    fallback() external payable {
        address facet = at().facetOf[msg.sig];
        require(facet != address(0), "no facet");
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), facet, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 { revert(0, returndatasize()) }
            default { return(0, returndatasize()) }
        }
    }
}

/// A facet: counts in a place of its own.
contract CountFacet {
    struct Storage {
        uint256 count;
    }

    function increment() external {
        Storage storage s;
        bytes32 slot = keccak256("zoo.count");
        assembly {
            s.slot := slot
        }
        s.count++;
    }
}
