// Package secretfile reads files with keys and other secrets, and refuses those that another
// account of the machine can read.
package secretfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// byteOrderMark is what some editors write before UTF-8 text.
const byteOrderMark = "\ufeff"

// Read returns the text of a file of at most the given number of bytes that no other account
// than its owner, root and this process's can read. A secret that a container mounts belongs to
// root and to a group of the process, often behind symbolic links: it is accepted if no other
// account is in that group. Errors do not contain the text.
func Read(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if why := shared(info); why != "" {
		return "", fmt.Errorf("%s (mode %04o): %s", path, info.Mode().Perm(), why)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", err
	}
	if int64(len(text)) > most {
		return "", fmt.Errorf("%s is longer than %d bytes", path, most)
	}
	return string(bytes.TrimPrefix(text, []byte(byteOrderMark))), nil
}
