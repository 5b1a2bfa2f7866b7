package sandbox

import "github.com/ethereum/go-ethereum/common"

func reserveGetChannel(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	d := a.descriptor()
	if a.bad {
		return nil, errCalldata
	}
	return wordsOf(append(d.words(), m.channel(d.ID(m.chainID)).words()...)...), nil
}

func reserveGetState(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	id := a.word()
	if a.bad {
		return nil, errCalldata
	}
	return wordsOf(m.channel(id).words()...), nil
}

func reserveGetStates(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	ids := a.hashes()
	if a.bad {
		return nil, errCalldata
	}
	out := []common.Hash{wordOf64(32), wordOf64(uint64(len(ids)))}
	for _, id := range ids {
		out = append(out, m.channel(id).words()...)
	}
	return wordsOf(out...), nil
}

func reserveComputeID(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	d := a.descriptor()
	if a.bad {
		return nil, errCalldata
	}
	return wordsOf(d.ID(m.chainID)), nil
}

func reserveVoucherDigest(m *machine, _, _ common.Address, a *arguments) ([]byte, error) {
	id, cumulative := a.word(), a.uint(96)
	if a.bad {
		return nil, errCalldata
	}
	return wordsOf(VoucherDigest(m.chainID, id, &cumulative)), nil
}

func reserveDomain(m *machine, _, _ common.Address, _ *arguments) ([]byte, error) {
	return wordsOf(domainSeparator(m.chainID)), nil
}
