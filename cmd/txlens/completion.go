package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script for a shell, generated from the same model as the help.
func (cmd *completionCmd) Run(c console, k *kong.Context) error {
	switch cmd.Shell {
	case "bash":
		return bashCompletion(c.out, k.Model)
	case "zsh":
		return zshCompletion(c.out, k.Model)
	}
	return fishCompletion(c.out, k.Model)
}

// subcommands are the commands below a node that help shows.
func subcommands(n *kong.Node) (list []*kong.Node) {
	for _, child := range n.Children {
		if !child.Hidden {
			list = append(list, child)
		}
	}
	return list
}

// eachCommand visits a node and all commands below it; words are their names.
func eachCommand(n *kong.Node, words []string, visit func(words []string, n *kong.Node)) {
	visit(words, n)
	for _, child := range subcommands(n) {
		eachCommand(child, append(words[:len(words):len(words)], child.Name), visit)
	}
}

// flagsOf are the flags that a command takes, those of its parents included.
func flagsOf(n *kong.Node) (list []*kong.Flag) {
	for _, group := range n.AllFlags(true) {
		list = append(list, group...)
	}
	return list
}

// choices are the values that a flag or an argument may have; nil: any.
func choices(v *kong.Value) (list []string) {
	for _, s := range strings.Split(v.Enum, ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// takesFile reports whether a value is the name of a file or a folder.
func takesFile(v *kong.Value) bool {
	switch v.Tag.Type {
	case "path", "existingfile", "existingdir":
		return true
	}
	return false
}

// wordsAfter are what can follow a command beside files: commands below it and choices of its
// argument.
func wordsAfter(n *kong.Node) (list []string, files bool) {
	for _, child := range subcommands(n) {
		list = append(list, child.Name)
	}
	for _, p := range n.Positional {
		list = append(list, choices(p)...)
		files = files || takesFile(p) || n.Name == "diff"
	}
	return list, files
}

// bashCompletion finds the command by its words, then completes by a case for each.
func bashCompletion(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	b.WriteString(`# Completion of txlens for bash: source <(txlens completion bash)
_txlens() {
  local cur prev path word i
  cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD-1]}
  path=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "$path $word" in
`)
	eachCommand(app.Node, nil, func(words []string, n *kong.Node) {
		if len(words) > 0 {
			last := len(words) - 1
			fmt.Fprintf(&b, "      %q) path=%q ;;\n", strings.Join(words[:last], "/")+" "+words[last], strings.Join(words, "/"))
		}
	})
	b.WriteString("    esac\n  done\n  COMPREPLY=()\n  case \"$path $prev\" in\n")
	eachCommand(app.Node, nil, func(words []string, n *kong.Node) {
		for _, f := range flagsOf(n) {
			at := strings.Join(words, "/") + " --" + f.Name
			switch {
			case f.IsBool():
			case len(choices(f.Value)) > 0:
				fmt.Fprintf(&b, "    %q) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", at, strings.Join(choices(f.Value), " "))
			case takesFile(f.Value):
				fmt.Fprintf(&b, "    %q) compopt -o default 2>/dev/null; return ;;\n", at)
			default:
				fmt.Fprintf(&b, "    %q) return ;;\n", at)
			}
		}
	})
	b.WriteString("  esac\n  case \"$path\" in\n")
	eachCommand(app.Node, nil, func(words []string, n *kong.Node) {
		list, files := wordsAfter(n)
		for _, f := range flagsOf(n) {
			list = append(list, "--"+f.Name)
		}
		fmt.Fprintf(&b, "    %q) COMPREPLY=($(compgen -W %q -- \"$cur\"))", strings.Join(words, "/"), strings.Join(list, " "))
		if files {
			b.WriteString("; [[ $cur == -* ]] || compopt -o default 2>/dev/null")
		}
		b.WriteString(" ;;\n")
	})
	b.WriteString("  esac\n}\ncomplete -F _txlens txlens\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// zshCompletion describes each flag to _arguments.
func zshCompletion(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	b.WriteString("#compdef txlens\n# Completion of txlens for zsh: txlens completion zsh > \"${fpath[1]}/_txlens\"\n")
	eachCommand(app.Node, nil, func(words []string, n *kong.Node) {
		fmt.Fprintf(&b, "\n%s() {\n", zshName(words))
		if list := subcommands(n); len(list) > 0 {
			b.WriteString("  local context state state_descr line\n  typeset -A opt_args\n  local -a commands=(\n")
			for _, child := range list {
				fmt.Fprintf(&b, "    %s\n", shellQuoted(child.Name+":"+helpLine(child.Help)))
			}
			b.WriteString("  )\n")
		}
		b.WriteString("  _arguments -C")
		for _, f := range flagsOf(n) {
			fmt.Fprintf(&b, " \\\n    %s", shellQuoted(zshFlag(f)))
		}
		switch list := subcommands(n); {
		case len(list) > 0:
			b.WriteString(" \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n")
			b.WriteString("    command) _describe command commands ;;\n    rest)\n      case $words[1] in\n")
			for _, child := range list {
				fmt.Fprintf(&b, "        %s) %s ;;\n", child.Name, zshName(append(words[:len(words):len(words)], child.Name)))
			}
			b.WriteString("      esac ;;\n  esac\n")
		default:
			for _, p := range n.Positional {
				fmt.Fprintf(&b, " \\\n    %s", shellQuoted("*:"+p.Name+":"+zshValue(p, n.Name == "diff")))
			}
			b.WriteString("\n")
		}
		b.WriteString("}\n")
	})
	b.WriteString("\n_txlens \"$@\"\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func zshName(words []string) string {
	return strings.Join(append([]string{"_txlens"}, words...), "_")
}

// zshFlag is the specification of a flag for _arguments.
func zshFlag(f *kong.Flag) string {
	spec := "--" + f.Name
	text := "[" + strings.NewReplacer("[", "(", "]", ")", ":", " ").Replace(helpLine(f.Help)) + "]"
	if f.IsBool() {
		return spec + text
	}
	return "*" + spec + "=" + text + ":" + f.Name + ":" + zshValue(f.Value, false)
}

func zshValue(v *kong.Value, files bool) string {
	switch list := choices(v); {
	case len(list) > 0:
		return "(" + strings.Join(list, " ") + ")"
	case files || takesFile(v):
		return "_files"
	}
	return ""
}

// fishCompletion has a line for each word.
func fishCompletion(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	b.WriteString("# Completion of txlens for fish: txlens completion fish > ~/.config/fish/completions/txlens.fish\ncomplete -c txlens -f\n")
	eachCommand(app.Node, nil, func(words []string, n *kong.Node) {
		when := fishCondition(words, subcommands(n))
		line := func(format string, args ...any) {
			fmt.Fprintf(&b, "complete -c txlens -n %s ", shellQuoted(when))
			fmt.Fprintf(&b, format+"\n", args...)
		}
		for _, child := range subcommands(n) {
			line("-a %s -d %s", child.Name, shellQuoted(helpLine(child.Help)))
		}
		list, files := wordsAfter(n)
		if len(list) > 0 && len(subcommands(n)) == 0 {
			line("-a %s", shellQuoted(strings.Join(list, " ")))
		}
		if files {
			line("-F")
		}
		for _, f := range flagsOf(n) {
			more := ""
			switch list := choices(f.Value); {
			case f.IsBool():
			case len(list) > 0:
				more = " -x -a " + shellQuoted(strings.Join(list, " "))
			case takesFile(f.Value):
				more = " -r -F"
			default:
				more = " -x"
			}
			line("-l %s -d %s%s", f.Name, shellQuoted(helpLine(f.Help)), more)
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// fishCondition holds after the words of a command and before those of one below it.
func fishCondition(words []string, below []*kong.Node) string {
	var parts []string
	for _, word := range words {
		parts = append(parts, "__fish_seen_subcommand_from "+word)
	}
	if len(words) == 0 {
		return "__fish_use_subcommand"
	}
	for _, child := range below {
		parts = append(parts, "not __fish_seen_subcommand_from "+child.Name)
	}
	return strings.Join(parts, "; and ")
}

// helpLine is the first sentence of a help.
func helpLine(help string) string {
	help, _, _ = strings.Cut(help, ". ")
	help, _, _ = strings.Cut(help, "; ")
	return strings.TrimSuffix(help, ".")
}

// shellQuoted puts a text in single quotes.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
