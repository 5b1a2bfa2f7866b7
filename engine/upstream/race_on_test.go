//go:build race

package upstream

// racing: the race detector is on, which makes memory traffic some 40 times as
// dear; tests that stream hundreds of megabytes take smaller limits then.
const racing = true
