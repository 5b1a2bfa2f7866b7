// Package settings declares the settings of the service, each once: the tags of a field
// name its flag, its environment variable, its default and its help, in the notation of
// github.com/alecthomas/kong. The types convert themselves to the options of package app.
// An error that a person can correct is an InputError, whose text names the flag.
//
//	var s settings.Server
//	parser, err := kong.New(&s, kong.Vars(settings.Vars()))
package settings
