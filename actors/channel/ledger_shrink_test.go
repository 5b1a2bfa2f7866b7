package channel_test

import (
	"fmt"
	"slices"
	"time"
)

// shrinkTime bounds the looking for a shorter plan.
const shrinkTime = 40 * time.Second

// shrink takes groups out of a plan that fails, ever smaller parts of it, for as long
// as it fails. It returns the shortest found, how it runs and why it fails.
func (p plan) shrink(dir string, why error) (plan, *episode, error) {
	best, worst := p, why
	run, tries, end := (*episode)(nil), 0, time.Now().Add(shrinkTime)
	fails := func(q plan) bool {
		tries++
		e, err := q.run(fmt.Sprintf("%s/shrink%d", dir, tries))
		if err != nil && e != nil {
			best, run, worst = q, e, err
		}
		return err != nil
	}
	fails(p)
	for size := len(best.groups) / 2; size > 0 && time.Now().Before(end); size /= 2 {
		for from := 0; from < len(best.groups) && time.Now().Before(end); {
			to := min(from+size, len(best.groups))
			q := plan{serial: true, groups: slices.Delete(slices.Clone(best.groups), from, to)}
			if !fails(q) {
				from = to
			}
		}
	}
	return best, run, fmt.Errorf("%w (%d of %d groups are left after %d tries)", worst, len(best.groups), len(p.groups), tries)
}
