package upstream

import (
	"fmt"
	"strings"
	"testing"

	"txlens/engine/meter"
	"txlens/testkit/stubnode"
)

// TestSourceText: each directory's form comes out as the same files, the
// contract's own first.
func TestSourceText(t *testing.T) {
	ch := mustChain(t, 1)
	own, lib, mock := stubnode.File{Path: "src/Vault.sol", Text: "contract Vault {}"}, stubnode.File{Path: "lib/A.sol", Text: "library A {}"}, stubnode.File{Path: "z/Vault.t.sol", Text: "contract T {}"}
	f := func(service string, want string, files ...stubnode.File) {
		t.Helper()
		src, s, _ := services(t)
		src.SetContract(service, 1, hexAddress(token), stubnode.Contract{Name: "Vault", Files: files})
		got, err := s.SourceText(background(t), ch, token)
		have := errText(err)
		if got != nil {
			have = got.Origin
			for _, f := range got.Files {
				have += " " + f.Path + "=" + f.Text
			}
		}
		if have != want {
			t.Errorf("%s: got %q, want %q", service, have, want)
		}
	}
	all := " src/Vault.sol=contract Vault {} lib/A.sol=library A {} z/Vault.t.sol=contract T {}"
	f(stubnode.Sourcify, "sourcify"+all, own, lib, mock)
	f(stubnode.Etherscan, "etherscan"+all, own, lib, mock)
	f(stubnode.Blockscout, "blockscout"+all, own, lib, mock)
	f(stubnode.Etherscan, "etherscan Vault.sol=contract Vault {}", own)
	f(stubnode.Sourcify, "ask sourcify of 127.0.0.1 for ethereum-mainnet: not verified there", stubnode.File{Path: "a.sol"})
}

// TestSourceTextBounds: what does not fit is left out and counted.
func TestSourceTextBounds(t *testing.T) {
	f := func(n, size int, wantFiles, wantCut int) {
		t.Helper()
		var files []SourceFile
		for i := range n {
			files = append(files, SourceFile{fmt.Sprintf("%04d.sol", i), strings.Repeat("x", size)})
		}
		r, err := newText(files, "")
		if err != nil || len(r.Files) != wantFiles || r.Cut != wantCut {
			t.Errorf("%d files of %d: %v, %+.80v", n, size, err, r)
		}
	}
	f(3, 10, 3, 0)
	f(maxSourceFiles+2, 10, maxSourceFiles, 2)
	f(3, maxSourceBytes/2, 2, 1)
	if _, err := newText([]SourceFile{{"a", strings.Repeat("x", maxSourceBytes+1)}}, ""); err != errAnswerTooLarge {
		t.Error(err)
	}
}

// TestSourceTextReplays: a bundle answers for the text and the interface apart.
func TestSourceTextReplays(t *testing.T) {
	src := stubnode.NewSources()
	base := src.Start(t)
	rec := NewRecorder()
	src.SetContract(stubnode.Sourcify, 1, hexAddress(token), stubnode.Contract{Name: "Vault"})
	s := newClient(t, Config{SourcifyURL: base, BlockscoutURL: base}).Session(&meter.Meter{}, rec)
	ch := mustChain(t, 1)
	live, err := s.SourceText(background(t), ch, token)
	if err != nil {
		t.Fatal(err)
	}
	file, err := rec.Bundle().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseBundle(file)
	if err != nil {
		t.Fatal(err)
	}
	replayed := ReplaySession(b, nil)
	again, err := replayed.SourceText(background(t), ch, token)
	if err != nil || fmt.Sprint(*again) != fmt.Sprint(*live) {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := replayed.Source(background(t), ch, token); kindOf(err) != KindNotFound && kindOf(err) != KindNotRecorded {
		t.Errorf("the interface was not asked for: %v", err)
	}
}

// FuzzSourceText: whatever a directory answers, it is files within the bounds or an error.
func FuzzSourceText(f *testing.F) {
	f.Add(200, []byte(`{"match":"match","sources":{"a.sol":{"content":"contract A {}"}},"compilation":{"fullyQualifiedName":"a.sol:A"}}`))
	f.Add(200, []byte(`{"status":"1","result":[{"SourceCode":"{{\"sources\":{\"a.sol\":{\"content\":\"x\"}}}}","ABI":"[]","ContractName":"A"}]}`))
	f.Add(200, []byte(`{"status":"1","result":[{"SourceCode":"{\"a.sol\":{\"content\":\"x\"}}","ABI":"[]","ContractName":"A"}]}`))
	f.Add(200, []byte(`{"name":"A","file_path":"a.sol","source_code":"x","additional_sources":[{"file_path":"b.sol","source_code":"y"}]}`))
	f.Add(404, []byte(`{}`))
	f.Fuzz(func(t *testing.T, status int, raw []byte) {
		for _, read := range []func(int, []byte) (any, error){readSourcifyText, readEtherscanText, readBlockscoutText} {
			v, err := read(status, raw)
			if err != nil {
				continue
			}
			r := v.(*textRecord)
			size := 0
			for _, f := range r.Files {
				size += len(f.Text)
			}
			if len(r.Files) == 0 || len(r.Files) > maxSourceFiles || size > 3*maxSourceBytes {
				t.Errorf("%d files of %d bytes", len(r.Files), size)
			}
		}
	})
}
