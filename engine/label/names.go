package label

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"txlens/engine/api"

	"golang.org/x/text/unicode/norm"
)

// MaxName bounds a name from the chain, in characters.
const MaxName = 40

//go:embed confusables.txt
var confusablesText string

// drawnLike maps characters to the Latin letters and digits they are drawn like: the table
// of Unicode, over which the rows of this package go.
var drawnLike = sync.OnceValue(func() map[rune]string {
	m := make(map[rune]string, 1500)
	for line := range strings.Lines(confusablesText) {
		letters, like, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, r := range like {
			m[r] = letters
		}
	}
	for r, latin := range confusables {
		m[r] = string(latin)
	}
	return m
})

// framed are the ranges of letters in frames or on flags that NFKD leaves alone: A to Z.
var framed = [...]rune{0x1f150, 0x1f170, 0x1f1e6}

// marks are signs that NFKD turns into letters, which nobody reads as part of a name.
var marks = strings.NewReplacer("™", "", "℠", "", "℡", "", "№", "")

// skeleton is what is read of a name: its letters and digits, compatibility forms folded
// (full-width, mathematical and circled letters), accents dropped, and letters of other
// scripts replaced by the Latin ones they are drawn like. Case is kept. All that compares
// names compares skeletons.
func skeleton(s string) string { return strings.Join(skeletons(s), "") }

// skeletons are the skeletons of the words of a name.
func skeletons(s string) []string {
	var words []string
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	for _, r := range folded(s) {
		switch {
		case unicode.Is(unicode.M, r):
		case wordRune(r):
			b.WriteRune(r)
		case inFrame(r) != 0:
			b.WriteRune(inFrame(r))
		default:
			end()
		}
	}
	end()
	return words
}

// folded is a name with each character replaced by the Latin ones it is drawn like, before
// NFKD and behind it: NFKD makes a sigma of the lunate one, which is drawn like a C.
func folded(s string) string {
	if ascii(s) {
		return s
	}
	return fold(norm.NFKD.String(fold(marks.Replace(Clean(s)))))
}

func fold(s string) string {
	var b strings.Builder
	for _, r := range s {
		if latin := drawnLike()[r]; latin != "" {
			b.WriteString(latin)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func inFrame(r rune) rune {
	for _, first := range framed {
		if r >= first && r < first+26 {
			return 'A' + r - first
		}
	}
	return 0
}

// notPrinted are marks that texts do not print in names.
const notPrinted = "*[]<>|`#~\\\"{}"

// Key is what a reader takes names for: two names with one key look the same where texts print
// them, which drop some marks and cut what is long. Only names without letters are compared as
// they are.
func Key(name string) string {
	if key, ok := asciiKey(name); ok {
		return key
	}
	return keyOf(name)
}

// keyOf is Key for any name.
func keyOf(name string) string {
	n := 0
	printed := strings.Map(func(r rune) rune {
		if strings.ContainsRune(notPrinted, r) || !unicode.IsPrint(r) || n == MaxName {
			return -1
		}
		n++
		return r
	}, name)
	if k := skeleton(printed); k != "" {
		return strings.ToLower(k)
	}
	return printed
}

// asciiKey is Key for a name of ASCII that has a letter or a digit, which most have.
func asciiKey(name string) (key string, ok bool) {
	var buf [MaxName]byte
	n, k := 0, 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= utf8.RuneSelf:
			return "", false
		case n == MaxName || c < ' ' || c == 0x7f || strings.IndexByte(notPrinted, c) >= 0:
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
			fallthrough
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			buf[k] = c
			k++
		}
		n++
	}
	return string(buf[:k]), k > 0
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// praise are words that a name puts beside another's to be taken for it.
var praise = []string{"verified", "official", "genuine", "real", "authentic", "original", "legit", "token"}

// unpraised is the skeleton of a name without the words that praise it.
func unpraised(s string) string {
	words := slices.DeleteFunc(skeletons(s), func(w string) bool { return slices.Contains(praise, strings.ToLower(w)) })
	return strings.Join(words, "")
}

// Printable is how a name that a stranger chose is shown, and checked: one line without
// characters that Markdown or HTML read and without quotes and brackets, so that it can
// stand in quotes of our own, and bounded.
func Printable(s string) string {
	var b strings.Builder
	n, last := 0, ' '
	runes := []rune(Clean(api.Unquoted(s)))
	for i, r := range runes {
		if strings.ContainsRune("*<>|`#~\\", r) || unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf) && r != '’' {
			continue
		}
		if r == '_' && (!wordRune(last) || i+1 == len(runes) || !wordRune(runes[i+1])) {
			continue // inside a word nothing reads it as emphasis
		}
		if n++; n > MaxName {
			break
		}
		b.WriteRune(r)
		last = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// What a name must not hold, after NFKD.
var (
	likeAddress = regexp.MustCompile(`(?i)0x[0-9a-f]{3}|\b[0-9a-f]{16}|\.\.`)
	likeAmount  = regexp.MustCompile(`\$|\d[.,'’ _]\d{3}(\D|$)|(^|\s)[\d.,]+\s+\pL`)
	sentenceEnd = regexp.MustCompile(`[.!?;。]\s|\s\S*[.!?。]$|[…\n]`)
)

// Foreign is a name that the holder of an address chose, as Printable shows it. It is empty
// where the name would be read as something else: an address, an amount, the end of our own
// sentence, or what the tables call another address. A dollar sign before a symbol is only
// dropped.
func Foreign(s string) string {
	s = Printable(s)
	if rest := strings.TrimPrefix(s, "$"); rest != s && rest != "" && unicode.IsLetter([]rune(rest)[0]) {
		s = rest
	}
	// NFKD turns an ellipsis into three dots, and full-width signs into the plain ones.
	flat := norm.NFKD.String(s)
	if likeAddress.MatchString(flat) || likeAmount.MatchString(flat) || sentenceEnd.MatchString(flat) {
		return ""
	}
	if skeleton(s) == "" && !picture(s) || officialName(s) {
		return ""
	}
	return s
}

// picture reports whether a name has a symbol to show, such as an emoji.
func picture(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.So, r) })
}

// officialNames are the skeletons of the names that the reviewed tables give contracts.
var officialNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	add := func(s string) {
		if k := strings.ToLower(skeleton(s)); len(k) >= majorLength {
			names[k] = true
		}
	}
	for _, l := range curatedLabels() {
		add(l.Name)
	}
	t := labels()
	for _, id := range append(t.Chains(), anywhere) {
		for i, end := t.Rows(id); i < end; i++ {
			add(t.Field(i, labelName))
		}
	}
	return names
})

// officialName reports whether a reviewed table gives a contract this name. Names come here
// of addresses alone that no table knows.
func officialName(s string) bool { return officialNames()[strings.ToLower(skeleton(s))] }
