package zoo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// artefact is a contract as it was published: its interface and its creation code.
type artefact struct {
	abi      abi.ABI
	bytecode []byte
}

// contract is one that stands on the chain.
type contract struct {
	addr common.Address
	abi  abi.ABI
}

// requirePackages skips where "npm ci" was not run.
func requirePackages(tb testing.TB) {
	tb.Helper()
	_, err := os.Stat("node_modules")
	switch {
	case err == nil:
	case os.Getenv("TXLENS_REQUIRE_NODE") != "":
		tb.Fatalf("the packages of zoo/package.json are required here and absent: %v", err)
	default:
		tb.Skip(`without "npm ci" in this folder there are no contracts to deploy`)
	}
}

// published reads an artefact of a package: as truffle, hardhat or foundry write them,
// or the factory that typechain makes of one.
func published(tb testing.TB, path string) *artefact {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("node_modules", filepath.FromSlash(path)))
	if err != nil {
		tb.Fatalf("read artefact: %v", err)
	}
	read := readBuild
	if filepath.Ext(path) == ".js" {
		read = readFactory
	}
	a, err := read(text)
	if err != nil {
		tb.Fatalf("read artefact %s: %v", path, err)
	}
	return a
}

func readBuild(text []byte) (*artefact, error) {
	var build struct {
		ABI      json.RawMessage
		Bytecode json.RawMessage
	}
	if err := json.Unmarshal(text, &build); err != nil {
		return nil, err
	}
	// foundry has an object where the others have the code itself.
	var nested struct{ Object string }
	var code string
	if json.Unmarshal(build.Bytecode, &nested) == nil {
		code = nested.Object
	} else if err := json.Unmarshal(build.Bytecode, &code); err != nil {
		return nil, err
	}
	return newArtefact(build.ABI, code)
}

var (
	factoryABI  = regexp.MustCompile(`(?s)const _abi = (\[.*?\n\]);`)
	factoryCode = regexp.MustCompile(`_bytecode = "(0x[0-9a-f]+)"`)
	bareKey     = regexp.MustCompile(`(?m)^(\s*)(\w+):`)
	lastComma   = regexp.MustCompile(`,(\s*[\]}])`)
)

func readFactory(text []byte) (*artefact, error) {
	list, code := factoryABI.FindSubmatch(text), factoryCode.FindSubmatch(text)
	if list == nil || code == nil {
		return nil, errors.New("no factory that typechain made")
	}
	quoted := lastComma.ReplaceAll(bareKey.ReplaceAll(list[1], []byte(`$1"$2":`)), []byte("$1"))
	return newArtefact(quoted, string(code[1]))
}

func newArtefact(list []byte, code string) (*artefact, error) {
	parsed, err := abi.JSON(bytes.NewReader(list))
	if err != nil {
		return nil, err
	}
	a := &artefact{abi: parsed, bytecode: common.FromHex(code)}
	if len(a.bytecode) == 0 {
		return nil, fs.ErrNotExist
	}
	return a, nil
}

// creation is the code that deploys it with these arguments.
func (a *artefact) creation(tb testing.TB, args ...any) []byte {
	tb.Helper()
	packed, err := a.abi.Pack("", shapes(a.abi.Constructor.Inputs, args)...)
	if err != nil {
		tb.Fatalf("pack constructor: %v", err)
	}
	return append(bytes.Clone(a.bytecode), packed...)
}

// pack is the calldata of a method.
func (c contract) pack(tb testing.TB, method string, args ...any) []byte {
	tb.Helper()
	data, err := c.abi.Pack(method, shapes(c.abi.Methods[method].Inputs, args)...)
	if err != nil {
		tb.Fatalf("pack %s: %v", method, err)
	}
	return data
}
