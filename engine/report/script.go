package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"sync"
)

// pageScript searches, filters and folds what is on the page. It makes elements and texts
// only, never markup from strings, and asks for nothing.
//
//go:embed script.js
var pageScript string

// scriptHash is how the policy of the page names its only script.
var scriptHash = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return base64.StdEncoding.EncodeToString(sum[:])
})

// ScriptSource names the page's script in a content security policy, for who serves the page.
func ScriptSource() string { return "'sha256-" + scriptHash() + "'" }

// Script is the page's script, ScriptHash the hash that allows it.
func (s *sheet) Script() template.JS { return template.JS(pageScript) }

// ScriptHash is the hash of Script in the page's policy.
func (s *sheet) ScriptHash() string { return scriptHash() }
