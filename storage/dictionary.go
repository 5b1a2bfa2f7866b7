package storage

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
)

// resultsDict is a zstd dictionary of the text that results have in common. The test
// TestDictionary of package app trains it.
//
//go:embed results.dict
var resultsDict []byte

// dictionaryPrefix begins the keys of dictionaries in bucketMeta; the id follows. The file has
// each dictionary that it was written with, so that a later program with another dictionary
// can read all of it.
const dictionaryPrefix = "dictionary "

// openCoders opens encoder and decoder, and adds the dictionary of this program to the file.
func (s *Store) openCoders() error {
	own, err := zstd.InspectDictionary(resultsDict)
	if err != nil {
		return fmt.Errorf("read the built-in dictionary: %w", err)
	}
	key := binary.BigEndian.AppendUint32([]byte(dictionaryPrefix), own.ID())
	var all [][]byte
	known := false
	err = s.guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			c := tx.Bucket(bucketMeta).Cursor()
			for k, v := c.Seek([]byte(dictionaryPrefix)); bytes.HasPrefix(k, []byte(dictionaryPrefix)); k, v = c.Next() {
				known = known || bytes.Equal(k, key)
				all = append(all, bytes.Clone(v))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if !known {
		all = append(all, resultsDict)
		if err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(key, resultsDict) }); err != nil {
			return fmt.Errorf("add the dictionary: %w", err)
		}
	}
	s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderDicts(all...))
	if err != nil {
		return fmt.Errorf("%w: its dictionary: %w", ErrDamaged, err)
	}
	s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderDict(resultsDict))
	if err != nil {
		s.dec.Close()
		return fmt.Errorf("read the built-in dictionary: %w", err)
	}
	return nil
}
