package claim

import (
	"errors"
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// strength is what a check proves if it holds.
type strength uint8

const (
	showsNothing  strength = iota // it cannot be computed, or always holds
	showsMovement                 // assets moved, as in every trade
	showsBreak                    // two values that should agree differ
)

// errFalse: the evidence contradicts the check.
var errFalse = errors.New("the check does not hold")

// Recheck verifies the check of a finding of the rules like that of a model: it must hold,
// be about the victims, be able to fail, and compare two values that should agree.
func (ix *Index) Recheck(f *api.Finding) error {
	shown, err := ix.verify(f.Check, f.Victim)
	if err == nil && shown < showsBreak {
		err = errors.New("the check shows no more than that assets moved")
	}
	return err
}

// verify evaluates a check. It must hold, be about the victims, use only numbers that
// exist, and be able to fail.
func (ix *Index) verify(text string, victims []api.Addr) (strength, error) {
	c, err := parseCheck(text)
	if err != nil {
		return showsNothing, err
	}
	if err := ix.constants(c); err != nil {
		return showsNothing, err
	}
	ok, err := c.holds(ix.look)
	if err != nil {
		return showsNothing, err
	}
	if !ok {
		return showsNothing, errFalse
	}
	best := showsNothing
	for _, x := range c {
		if s := ix.strengthOf(x, victims); s > best && !ix.vacuous(x) {
			best = s
		}
	}
	if best == showsNothing {
		return best, errors.New("the check is not about the victim, or cannot fail")
	}
	return best, nil
}

// maxFactor bounds the constants of the model in a check: factors and tolerances.
const maxFactor = 10_000

// constants returns an error unless every constant is small, a power of ten, or in the
// evidence.
func (ix *Index) constants(c condition) error {
	var err error
	c.walk(func(e *expr) {
		if e.op != opConst || e.value.IsUint64() && e.value.Uint64() <= maxFactor {
			return
		}
		if powerOfTen(e.value) || ix.raws[e.value.String()] {
			return
		}
		if e.value.BitLen() <= 160 && ix.addresses[api.AddrOf(common.BigToAddress(e.value))] {
			return
		}
		err = unresolved("a number")
	})
	return err
}

// strengthOf returns what a comparison proves. A changed balance of one account and token
// alone breaks no rule.
func (ix *Index) strengthOf(x comparison, victims []api.Addr) strength {
	about, subjects, other := false, map[string]bool{}, false
	condition{x}.walk(func(e *expr) {
		if e.op != opRef {
			return
		}
		v, err := ix.refer(e.ref)
		if err != nil {
			return
		}
		for _, a := range v.touches {
			for _, w := range victims {
				about = about || a == w
			}
		}
		switch e.ref.name {
		case "net", "sent", "received":
			subjects[e.ref.args[0]+" "+e.ref.args[1]] = true
		case "balance_before", "balance_after":
			subjects[e.ref.args[0]+" native"] = true
		case "transfer", "value":
			subjects["moved"] = true
		default:
			other = true
		}
	})
	switch {
	case !about:
		return showsNothing
	case other || len(subjects) > 1:
		return showsBreak
	}
	return showsMovement
}

// trials are the values assigned to references to see whether a comparison can fail.
const trials = 8

// vacuous reports whether a comparison holds for any evidence: with all references zero,
// all equal, and with unrelated values, negative where a reference may be.
func (ix *Index) vacuous(x comparison) bool {
	for trial := range trials {
		names := map[string]*big.Int{}
		ok, err := x.holds(func(r reference) (*big.Int, error) {
			key := r.name
			for _, a := range r.args {
				key += " " + a
			}
			if names[key] == nil {
				names[key] = trialValue(trial, len(names), references[r.name].signed)
			}
			return names[key], nil
		})
		if err == nil && !ok {
			return false
		}
	}
	return true
}

// trialValue returns the value of the n-th reference in a trial.
func trialValue(trial, n int, signed bool) *big.Int {
	v := big.NewInt(int64(trial / 2))
	switch trial {
	case 0:
		return new(big.Int)
	case 1, 2:
	case 3, 4: // the earlier the larger
		v.Lsh(big.NewInt(1), uint(200-20*min(n, 9)))
	case 5, 6: // the later the larger
		v.Lsh(big.NewInt(1), uint(20+20*min(n, 9)))
	default:
		v.SetInt64(int64(7 + 13*n))
	}
	if signed && trial%2 == 0 {
		v.Neg(v)
	}
	return v
}
