// Package bench holds the benchmarks of the hot paths. Each runs beside its floor
// in the same loop, the time encoding/json needs to unmarshal the same inputs, and
// reports the ratio: absolute times say more about the machine.
//
//	go test -bench . -benchtime 3s ./bench
package bench
