//go:build !unix

package durable

// SyncDir does nothing: a folder cannot be synced here.
func SyncDir(string) error { return nil }
