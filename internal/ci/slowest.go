package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// slowestTests is how many tests printSlowest prints.
const slowestTests = 10

// appendTimes adds a line "seconds, package, test, outcome" for each top-level test, separated
// by tabs.
func (t *tests) appendTimes(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the file of durations: %w", err)
	}
	for _, one := range t.times {
		fmt.Fprintf(f, "%.2f\t%s\t%s\t%s\n", one.seconds, one.pkg, one.test, one.outcome)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the file of durations: %w", err)
	}
	return nil
}

func printSlowest(file string, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the durations of tests: %w", err)
	}
	times, err := parseTimes(string(text))
	if err != nil {
		return err
	}
	slices.SortStableFunc(times, func(a, b testTime) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.pkg+a.test, b.pkg+b.test))
	})
	for _, one := range times[:min(slowestTests, len(times))] {
		fmt.Fprintf(out, "%7.1f s  %s %s\n", one.seconds, one.pkg, one.test)
	}
	count := map[string]int{}
	for _, one := range times {
		count[one.outcome]++
	}
	fmt.Fprintf(out, "\ntests: %d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	return nil
}

func parseTimes(text string) (times []testTime, err error) {
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 4 {
			return nil, fmt.Errorf("a line of durations has %d columns instead of 4: %q", len(parts), line)
		}
		seconds, err := strconv.ParseFloat(parts[0], 64)
		if err != nil {
			return nil, fmt.Errorf("read a duration: %w", err)
		}
		times = append(times, testTime{parts[1], parts[2], seconds, parts[3]})
	}
	return times, nil
}
