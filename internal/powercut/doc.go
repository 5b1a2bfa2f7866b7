// Package powercut finds out what a program leaves on disk when the power fails. A
// killed process loses nothing that it has written, because the kernel keeps it; a
// machine that loses power loses all that was not synced.
//
// Run traces the system calls of a program and records each change of the files below
// a folder, each sync, and each line that the program prints. Cut then makes, in
// another folder, what may be left of the files at any moment of that run: all that
// was synced before, and any part of what was not.
//
//	child := exec.Command(os.Args[0]) // prints a line for what it has acknowledged
//	rec, err := powercut.Run(dir, child)
//	for range 50 {
//		at := rnd.IntN(rec.Len() + 1)
//		err := rec.Cut(copy, at, rnd)
//		// open what is in copy and look for all of rec.Said(at)
//	}
//
// # The model
//
// The rules are those of POSIX, which promises less than most file systems keep:
//
//   - The content and the length of a file are certain once fsync or fdatasync has
//     returned, as far as they were written before it was called.
//   - A name (a new file, a folder, a rename, a removal) is certain once fsync of the
//     folder that holds it has returned.
//   - Of what is not certain any write may be there or not, also in parts of 512
//     bytes, and names change in the order in which they were changed, up to any point.
//
// The program must be one process on Linux that changes files by the calls that the
// os package makes; Run fails when it sees another one.
package powercut
