package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/actors/recordid"
	"txlens/engine/api"
)

// MaxEvidenceBytes bounds the evidence of one result that is kept.
const MaxEvidenceBytes = 512 << 10

// Evidence is what an earlier analysis read.
type Evidence struct {
	Mined
	Bundle []byte
}

// evidenceKey is the same for requests whose analyses read the same. Neither the rules nor the
// data of the user are part of it.
func (k *Keeper) evidenceKey(req api.Request) KeptKey {
	parts := []string{k.o.Evidence, fmt.Sprint(req.ChainID), strings.ToLower(req.TxHash), req.Context, "evidence"}
	doc, _ := json.Marshal(parts, jsontext.AllowInvalidUTF8(true)) // strings always have an encoding
	return sha256.Sum256(doc)
}

// FindEvidence returns what an earlier analysis of an equal request read, whatever its rules were.
// The error is api.ErrNoRun as that of Find.
func (k *Keeper) FindEvidence(ctx context.Context, req api.Request) (Evidence, error) {
	row, err := k.o.Store.Kept(k.evidenceKey(req))
	if err == nil {
		err = k.check(ctx, &row, req.TxHash)
	}
	var bundle []byte
	if err == nil {
		bundle, err = k.o.Runs.evidence(row.Run)
	}
	if err != nil {
		return Evidence{}, k.unused(row, err)
	}
	return Evidence{row.Mined, bundle}, nil
}

// KeepEvidence stores what an analysis read, in place of what an earlier one of an equal request
// did. began is a time before the transaction was read.
func (k *Keeper) KeepEvidence(req api.Request, m Mined, began time.Time, bundle []byte) {
	found := req
	found.ChainID = m.ChainID
	row := Kept{Key: k.evidenceKey(found), Run: recordid.New(), Mined: m, CheckedAt: began.Unix(), MadeAt: k.o.Now().Unix()}
	if old, err := k.o.Store.Kept(row.Key); err == nil {
		row.Run = old.Run
	}
	err := k.o.Runs.finishEvidence(row.Run, bundle)
	if errors.Is(err, ErrNotKept) {
		return
	}
	rows := []Kept{row}
	if req.ChainID == 0 {
		row.Key = k.evidenceKey(req)
		rows = append(rows, row)
	}
	if err == nil {
		err = k.o.Store.PutKept(rows...)
	}
	if err != nil {
		k.o.Log.Error("keep evidence", "run", row.Run, "error", err)
	}
}
