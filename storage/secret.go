package storage

import (
	"bytes"
	"fmt"
)

// Secret returns what is kept under name. Where nothing is, fresh is kept and
// returned, and is on disk. It lies in the database so that one copy of the file is
// all that a server needs to go on: a backup is as secret as what is in it.
func (s *Store) Secret(name string, fresh []byte) (kept []byte, err error) {
	key := []byte("secret " + name)
	err = s.update(len(key)+len(fresh), func(c *change) error {
		b, err := c.bucket(bucketMeta)
		if err != nil {
			return err
		}
		if there := b.Get(key); there != nil {
			kept = bytes.Clone(there)
			return nil
		}
		kept = bytes.Clone(fresh)
		return c.put(bucketMeta, key, kept)
	})
	if err != nil {
		return nil, fmt.Errorf("keep the secret of %s: %w", name, err)
	}
	return kept, nil
}

// SyncFolder makes it durable that a file was made, renamed or removed at path.
func SyncFolder(path string) error {
	if err := syncDir(path); err != nil {
		return fmt.Errorf("sync the folder of %s: %w", path, err)
	}
	return nil
}
