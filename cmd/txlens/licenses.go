package main

import "txlens/internal/licenses"

type licensesCmd struct{}

// Run prints the licences of the program and of everything in it.
func (licensesCmd) Run(c console) error { return licenses.Write(c.out) }
