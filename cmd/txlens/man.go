package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the manual page in the format of man(7), generated from the model of the help.
func (manCmd) Run(c console, k *kong.Context) error {
	var b strings.Builder
	b.WriteString(".TH TXLENS 1 \"\" \"txlens\" \"User Commands\"\n.SH NAME\ntxlens \\- explain EVM transactions\n.SH SYNOPSIS\n.B txlens\n.I command\n[flags]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(k.Model.Help))
	b.WriteString(".SH COMMANDS\n")
	eachCommand(k.Model.Node, nil, func(words []string, n *kong.Node) {
		if len(words) > 0 && n.Leaf() {
			manCommand(&b, words, n)
		}
	})
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.meaning))
	}
	b.WriteString(".SH ENVIRONMENT\nEach flag with a variable names it. Flags override the environment, and the environment overrides a file of settings.\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

// exitCodes are the exit codes with what they mean.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitComplete, "complete result"}, {exitBadInput, "bad input"}, {exitPartial, "partial result"},
	{exitNotFound, "transaction not found; every chain that was asked has answered"}, {exitPending, "transaction pending"}, {exitFault, "anything else"},
}

func manCommand(b *strings.Builder, words []string, n *kong.Node) {
	fmt.Fprintf(b, ".SS %s\n%s\n", roff("txlens "+strings.Join(words, " ")), roff(n.Help))
	for _, p := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
	}
	for _, f := range flagsOf(n) {
		if f.Name == "help" || f.Name == "help-all" || f.Name == "version" {
			continue
		}
		name := "\\-\\-" + roff(f.Name)
		if f.Short != 0 {
			name = "\\-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += "=" + roff(f.FormatPlaceHolder())
		}
		text := f.Help
		if len(f.Envs) > 0 {
			text += " Variable " + strings.Join(f.Envs, ", ") + "."
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", name, roff(text))
	}
}

// roff escapes a text so that no part of it is a roff command.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
