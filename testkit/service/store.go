//go:build !postgres

package service

// BuildTags are the tags that these tests were built with, and programs that they build.
const BuildTags = ""

// StoreFlags are further flags of txlens serve that say where the store of a server with these
// flags is: none. Tests that are built with the tag postgres use PostgreSQL instead of files.
func StoreFlags([]string) ([]string, error) { return nil, nil }

// CloseStores ends what StoreFlags has started.
func CloseStores() {}
