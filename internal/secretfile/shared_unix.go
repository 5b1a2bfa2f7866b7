//go:build unix

package secretfile

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Files that list the accounts and groups of a machine (passwd(5), group(5)).
const (
	accountsFile = "/etc/passwd"
	groupsFile   = "/etc/group"
)

// process is who reads the file.
type process struct {
	uid              uint32
	gids             []int  // its groups
	accounts, groups string // paths of the lists
}

// shared says who else can read a file and what to do, "" if nobody can.
func shared(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	gids, _ := os.Getgroups()
	p := process{uint32(os.Geteuid()), append(gids, os.Getegid()), accountsFile, groupsFile}
	return p.sharedWith(info.Mode().Perm(), stat.Uid, stat.Gid)
}

func (p *process) sharedWith(mode fs.FileMode, owner, group uint32) string {
	advice := "; chmod 600 it"
	if owner != p.uid {
		advice = fmt.Sprintf("; give it mode 0440 and the group %d of this process, or mode 0400 and its owner", p.gids[len(p.gids)-1])
	}
	switch {
	case mode&0o007 != 0:
		return "every account can read it" + advice
	case owner != p.uid && owner != 0:
		return fmt.Sprintf("it belongs to another account (user id %d)", owner) + advice
	case mode&0o020 != 0:
		return "its group can write it" + advice
	case mode&0o040 == 0:
		return ""
	case !slices.Contains(p.gids, int(group)):
		return fmt.Sprintf("its group (%d) is none of this process", group) + advice
	}
	if other := p.others(group); other != "" {
		return fmt.Sprintf("the account %s is in its group (%d) and can read it", other, group) + advice
	}
	return ""
}

// others names an account beside root and this one that is in a group, "" if the lists of the
// machine have none. Accounts that only a directory service knows are not seen.
func (p *process) others(group uint32) string {
	id := strconv.FormatUint(uint64(group), 10)
	own := map[string]bool{"root": true}
	first := ""
	eachLine(p.accounts, func(f []string) { // name:password:uid:gid:...
		if len(f) < 4 {
			return
		}
		if f[2] == "0" || f[2] == strconv.FormatUint(uint64(p.uid), 10) {
			own[f[0]] = true
		} else if f[3] == id && first == "" {
			first = f[0]
		}
	})
	eachLine(p.groups, func(f []string) { // name:password:gid:members
		if len(f) < 4 || f[2] != id {
			return
		}
		for member := range strings.SplitSeq(f[3], ",") {
			if member = strings.TrimSpace(member); member != "" && !own[member] && first == "" {
				first = member
			}
		}
	})
	return first
}

// eachLine calls visit with the fields of each line of a file; a file that cannot be read has
// none.
func eachLine(path string, visit func(fields []string)) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		visit(strings.Split(s.Text(), ":"))
	}
}
