// Package api holds the domain types of Txlens: what is asked (Request),
// what is answered (Result and its parts), what is told on the way (Event).
// It imports no other package of the engine, so that everything may import it.
//
// Units: wei and token base units are integers (math/big), money is an exact
// Decimal, times are Unix seconds or milliseconds as named. No float exists
// before a reader of the JSON makes one.
package api
