package overlay

import (
	"io/fs"
	"reflect"
	"sync/atomic"
)

// Holder has the present data of a folder that may be read again. It is safe for concurrent use,
// and a nil *Holder has none.
type Holder struct {
	fsys    fs.FS
	current atomic.Pointer[Data]
}

// Open reads a folder; see Read.
func Open(fsys fs.FS) (*Holder, error) {
	d, err := Read(fsys)
	if err != nil {
		return nil, err
	}
	h := &Holder{fsys: fsys}
	h.current.Store(d)
	return h, nil
}

// Current is the data as it was read last; nil without a folder.
func (h *Holder) Current() *Data {
	if h == nil {
		return nil
	}
	return h.current.Load()
}

// Reload reads the folder again. After an error the data stays as it was. Chains are those of the
// process and do not change.
func (h *Holder) Reload() error {
	d, err := Read(h.fsys)
	if err != nil {
		return err
	}
	if old := h.Current(); !reflect.DeepEqual(old.Chains(), d.Chains()) {
		faults := &Faults{}
		faults.add(kindChains, 0, "chains and endpoints changed, which needs a new start")
		return faults
	}
	h.current.Store(d)
	return nil
}
