// Package laws has tests about the source text of the project: which package imports which,
// what is declared in one place, how long a line is, what the pages in docs name. They read
// the files and link nothing of the program, so that one of them runs in a few seconds:
//
//	go test -run TestImportsRunOneWay ./internal/laws
//
// A test that needs a running program or its flags is in the package of these.
package laws
