// Package storage is what outlives the process. Nothing does yet: analyses leave
// bundles where they are told to, and keep no other state.
package storage
