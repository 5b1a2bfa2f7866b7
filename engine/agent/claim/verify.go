package claim

import (
	"errors"
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// strength is what a check that holds shows.
type strength uint8

const (
	showsNothing  strength = iota // it cannot be computed, or would hold whatever had happened
	showsMovement                 // assets moved: so they do in every trade
	showsBreak                    // two things that should agree are set against each other
)

// errFalse: the evidence contradicts the check.
var errFalse = errors.New("the check does not hold")

// Recheck computes the check of a finding of the rules by the measure of a model's: it
// must hold, be about the victims, be able to fail, and set two things against each other.
func (ix *Index) Recheck(f *api.Finding) error {
	shown, err := ix.verify(f.Check, f.Victim)
	if err == nil && shown < showsBreak {
		err = errors.New("the check shows no more than that assets moved")
	}
	return err
}

// verify computes a check. It must hold, must be about the victims, must be made of
// numbers that exist, and must be able to fail.
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

// maxFactor bounds the numbers of the model's own in a check: factors and tolerances.
const maxFactor = 10_000

// constants reports an error unless every number is small, a power of ten, or in the
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

// strengthOf looks at what a condition compares. That one account's balance of one
// token moved is no broken rule.
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

// trials are the values that references are given to see whether a condition can fail.
const trials = 8

// vacuous reports whether a condition holds whatever the evidence says: with all
// references zero, with all alike, and with values that have nothing to do with each
// other, below zero where a reference may be.
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

// trialValue is the value of the n-th reference in a trial.
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
