package client

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/internal/durable"
)

// fileVersion is the version of the format of a channel file.
const fileVersion = 1

// maxFile is the largest size in bytes of the file with all channels of one server; a
// channel takes about 2 KB.
const maxFile = 1 << 20

// fileSuffix is the suffix of channel files.
const fileSuffix = ".channels.json"

// channelFile is the content of a channel file: the channels of one account with one server.
type channelFile struct {
	Version  int            `json:"version"`
	Server   string         `json:"server"`
	Account  common.Address `json:"account"`
	Channels []row          `json:"channels"`
}

// descriptor is tempo.Descriptor with the member names of the protocol.
type descriptor struct {
	Payer             common.Address `json:"payer"`
	Payee             common.Address `json:"payee"`
	Operator          common.Address `json:"operator"`
	Token             common.Address `json:"token"`
	Salt              common.Hash    `json:"salt"`
	AuthorizedSigner  common.Address `json:"authorizedSigner"`
	ExpiringNonceHash common.Hash    `json:"expiringNonceHash"`
}

// row is one channel. Amounts are base units, times Unix seconds.
type row struct {
	ID         common.Hash    `json:"channelId"`
	ChainID    uint64         `json:"chainId"`
	Escrow     common.Address `json:"escrow"`
	Descriptor descriptor     `json:"descriptor"`
	State      ChannelState   `json:"state"`
	Deposit    tempo.Amount   `json:"deposit"`
	Signed     tempo.Amount   `json:"signed"` // amount of the highest voucher that may have been sent
	Spent      tempo.Amount   `json:"spent"`  // amount in the last receipt
	OpenedAt   int64          `json:"openedAt"`

	// OpenTx is the opening transaction of a channel, kept to send it again unchanged.
	OpenTx hexutil.Bytes `json:"openTx,omitzero"`
	// Pending is a top-up that may be in progress.
	Pending tempo.Amount `json:"pending,omitzero"`
	// ValidBefore is when OpenTx, or the transaction of Pending, can no longer be included.
	ValidBefore    int64 `json:"validBefore,omitzero"`
	WithdrawableAt int64 `json:"withdrawableAt,omitzero"`
}

func (r *row) ref() mpp.ChannelRef {
	return mpp.ChannelRef{ChannelID: r.ID, Descriptor: tempo.Descriptor(r.Descriptor)}
}

// held returns the account's money that is in the channel, or may soon be.
func (r *row) held() tempo.Amount {
	sum, ok := r.Deposit.Add(r.Pending)
	if !ok {
		return tempo.MaxAmount
	}
	return sum
}

// uncertain reports whether the chain may differ from the row.
func (r *row) uncertain() bool { return r.State != Open || !r.Pending.IsZero() }

// check validates a row that was read.
func (r *row) check(account common.Address) error {
	switch {
	case tempo.Descriptor(r.Descriptor).ID(r.ChainID, r.Escrow) != r.ID:
		return errors.New("the descriptor makes another channel id")
	case r.Descriptor.Payer != account:
		return errors.New("the payer is another account")
	case !slices.Contains([]ChannelState{Opening, Open, Closing}, r.State):
		return errors.New("the state is unknown")
	case r.Spent.Cmp(r.Signed) > 0:
		return errors.New("more is spent than signed")
	case r.State == Opening && len(r.OpenTx) == 0:
		return errors.New("the opening transaction is missing")
	}
	return nil
}

// DefaultDir returns the folder of a user's channel files: txlens/wallet in the user's
// configuration folder.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of the wallet: %w", err)
	}
	return filepath.Join(dir, "txlens", "wallet"), nil
}

// fileName returns the name of the file for a server and account: a readable part, and a hash
// that differs if the readable part does not.
func fileName(server string, account common.Address) string {
	_, host, _ := strings.Cut(server, "://")
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, host)
	sum := sha256.Sum256([]byte(server))
	return readable[:min(len(readable), 80)] + "-" + hex.EncodeToString(sum[:4]) + "-" + strings.ToLower(account.Hex()) + fileSuffix
}

// store is a locked channel file.
type store struct {
	path  string
	lock  *flock.Flock
	book  channelFile
	write func(path string, doc []byte) error // durable.ReplaceFile; tests replace it to simulate errors
}

// openStore locks and reads the file, if there is one.
func openStore(dir, server string, account common.Address) (*store, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the wallet: %w", err)
	}
	s := &store{path: filepath.Join(dir, fileName(server, account)), write: durable.ReplaceFile}
	s.lock = flock.New(s.path+".lock", flock.SetPermissions(0o600))
	if taken, err := s.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the channel file: %w", err)
	} else if !taken {
		return nil, ErrLocked
	}
	b, err := readBook(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = channelFile{Version: fileVersion, Server: server, Account: account}, nil
	}
	if err == nil && (b.Server != server || b.Account != account) {
		err = fmt.Errorf("read %s: it is of another server or account", filepath.Base(s.path))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.book = b
	return s, nil
}

func (s *store) close() error { return s.lock.Close() }

// readBook reads a channel file. An unreadable file is never overwritten, because it may be
// the only record of money.
func readBook(path string) (b channelFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return b, fmt.Errorf("read channels: %w", err)
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(doc) > maxFile {
		err = errors.New("it is too large")
	}
	if err == nil {
		b, err = decodeBook(doc)
	}
	if err != nil {
		return channelFile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

func decodeBook(doc []byte) (b channelFile, err error) {
	if err := json.Unmarshal(doc, &b, json.RejectUnknownMembers(true)); err != nil {
		return b, err
	}
	if b.Version != fileVersion {
		return b, fmt.Errorf("it has version %d, and this program writes %d", b.Version, fileVersion)
	}
	for i := range b.Channels {
		if err := b.Channels[i].check(b.Account); err != nil {
			return b, fmt.Errorf("channel %d: %w", i+1, err)
		}
	}
	return b, nil
}

// update changes the book and returns when it is on disk. After an error nothing has changed.
func (s *store) update(edit func(*channelFile)) error {
	next := s.book
	next.Channels = slices.Clone(s.book.Channels)
	edit(&next)
	doc, err := json.Marshal(next, jsontext.WithIndent("  "))
	if err == nil {
		err = s.write(s.path, append(doc, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep the channel: %w", err)
	}
	s.book = next
	return nil
}

// edit changes one row.
func (s *store) edit(id common.Hash, change func(*row)) error {
	return s.update(func(b *channelFile) {
		for i := range b.Channels {
			if b.Channels[i].ID == id {
				change(&b.Channels[i])
			}
		}
	})
}

// drop deletes a row.
func (s *store) drop(id common.Hash) error {
	return s.update(func(b *channelFile) {
		b.Channels = slices.DeleteFunc(b.Channels, func(r row) bool { return r.ID == id })
	})
}

// row returns a copy of a row; ok is false if there is none.
func (s *store) row(id common.Hash) (r row, ok bool) {
	for _, r := range s.book.Channels {
		if r.ID == id {
			return r, true
		}
	}
	return row{}, false
}

// Channels lists the channels in a folder, of all servers and accounts, by server, account and
// age. It takes no lock and makes no request. A missing folder has no channels. An unreadable
// file is reported as an error beside the channels of the others.
func Channels(dir string) ([]Channel, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix)) // sorted
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	var all []Channel
	var faults []error
	for _, path := range paths {
		b, err := readBook(path)
		faults = append(faults, err)
		for i := range b.Channels {
			all = append(all, b.public(&b.Channels[i]))
		}
	}
	return all, errors.Join(faults...)
}

// public returns a row in its public form.
func (b *channelFile) public(r *row) Channel {
	ch := Channel{
		Server: b.Server, Account: b.Account, ID: r.ID, ChainID: r.ChainID, Token: r.Descriptor.Token, Payee: r.Descriptor.Payee,
		State: r.State, Deposit: r.Deposit, Signed: r.Signed, Spent: r.Spent, OpenedAt: time.Unix(r.OpenedAt, 0),
	}
	if r.WithdrawableAt != 0 {
		ch.Withdrawable = time.Unix(r.WithdrawableAt, 0)
	}
	return ch
}
