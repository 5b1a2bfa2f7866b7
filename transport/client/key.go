package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"txlens/engine/mpp/tempo"
	"txlens/internal/durable"
	"txlens/internal/secretfile"
)

// ReadKey reads a secp256k1 key in hex. It refuses a file that another account can read.
// Errors do not contain the key.
func ReadKey(path string) (*tempo.Secp256k1Key, error) {
	const most = 256
	text, err := ReadSecret(path, most)
	if err != nil {
		return nil, err
	}
	key, err := tempo.ParseSecp256k1Key(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s does not hold 64 hex digits of a secp256k1 key", ErrKeyFile, path)
	}
	return key, nil
}

// ReadSecret reads a file of limited size that no other account can read. Errors do not contain
// its text.
func ReadSecret(path string, most int64) (string, error) {
	text, err := secretfile.Read(path, most)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return text, nil
}

// NewKey generates a key and writes it to a new file that only its owner can read. It never
// overwrites a file.
func NewKey(path string) (_ *tempo.Secp256k1Key, err error) {
	key, secret, err := tempo.GenerateSecp256k1Key()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	_, err = f.WriteString("0x" + hex.EncodeToString(secret) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path)) // an account with money must not be lost
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return key, nil
}
