package settings

import (
	"fmt"
	"os"

	"txlens/engine/chain"
	"txlens/engine/overlay"
)

// Own says where the files of the user are.
type Own struct {
	Files string `name:"data-dir"     placeholder:"DIR" env:"TXLENS_DATA_DIR"     help:"Folder with what you know: labels, tokens, chains, protocols, ABIs, incidents and lists of bad addresses; txlens data check DIR tells what is wrong with it." type:"path"`
	Share bool   `name:"share-labels"                   env:"TXLENS_SHARE_LABELS" help:"Show private labels of --data-dir also where a result may go to others: from a server, in reports and exports, to a language model."`

	holder *overlay.Holder // nil: no folder
	local  bool            // the result goes to the user
}

// AfterApply reads the folder once all settings are known: other settings may name its chains.
func (f *Own) AfterApply() error {
	if f.Files == "" || f.holder != nil {
		return nil
	}
	h, err := overlay.Open(os.DirFS(f.Files))
	if err != nil {
		return InputError{Err: fmt.Errorf("--data-dir: %s: %w", f.Files, err)}
	}
	var list []*chain.Chain
	for _, c := range h.Current().Chains() {
		list = append(list, c.Chain)
	}
	if err := chain.Extend(list); err != nil {
		return InputError{Err: fmt.Errorf("--data-dir: %s: %w", f.Files, err)}
	}
	f.holder = h
	return nil
}

// Local says that the result goes to the user alone, who sees private labels.
func (f *Own) Local() { f.local = true }

// Overlay is the data of the user for a result of this process; nil: none.
func (f *Own) Overlay() *overlay.Data {
	own := f.holder.Current()
	if f.local || f.Share {
		return own
	}
	return own.Shared()
}

// Withheld counts the private labels that are not shown.
func (f *Own) Withheld() int { return f.holder.Current().Private() - f.Overlay().Private() }
