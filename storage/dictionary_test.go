package storage

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
)

// TestDictionaryOfAnotherVersion: what was written with the dictionary of another version is
// read with that one, which is in the file.
func TestDictionaryOfAnotherVersion(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	o := Options{Now: c.Now, ExpireEvery: -1}
	text := []byte(strings.Repeat(`{"type":"result","words":"that only the other dictionary has, and has all of them"}`, 20))
	var samples [][]byte
	for i := range 20 {
		samples = append(samples, append([]byte(hex.EncodeToString(noise(rnd, 300))), text[i:400+i]...))
	}
	other, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 77777, Contents: samples, History: text, Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	rows := []job.RunRow{}
	put := func(s *Store) {
		row := job.RunRow{ID: idAt(c.Now(), rnd), State: job.RunReplayable, Frames: text}
		if err := s.PutRun(row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	own := resultsDict
	t.Cleanup(func() { resultsDict = own })
	for _, d := range [][]byte{other, own, other, own} {
		resultsDict = d
		s := open(t, dir, o)
		put(s)
		for _, row := range rows {
			if got, err := s.Run(row.ID); err != nil || !bytes.Equal(got.Frames, text) {
				t.Errorf("%d bytes, %v", len(got.Frames), err)
			}
		}
		ids := map[uint32]bool{}
		if err := s.view(func(tx *bolt.Tx) error {
			return tx.Bucket(bucketRuns).ForEach(func(k, v []byte) error {
				var h zstd.Header
				if len(k) != chunkKeySize || binary.BigEndian.Uint32(k[headKeySize:]) != 0 {
					return nil
				}
				err := h.Decode(v)
				ids[h.DictionaryID] = true
				return err
			})
		}); err != nil {
			t.Fatal(err)
		}
		if len(ids) != min(2, len(rows)) || !ids[77777] {
			t.Errorf("written with %v", ids)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir, o)
	overwrite(t, s, bucketMeta, []byte(dictionaryPrefix+"\x00\x00\x00\x01"), []byte("no dictionary"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, o); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
}
