//go:build linux && (amd64 || arm64)

package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run starts cmd under ptrace and records what it does below root until it ends, which
// must be with exit code 0. It reads the standard output of cmd by itself. The error
// is ErrUnsupported where processes cannot be traced.
func Run(root string, cmd *exec.Cmd) (*Recording, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", cmd.Path, err)
	}
	rec, err := snapshot(root)
	if err != nil {
		return nil, err
	}
	t := &tracer{rec: rec, root: root, threads: map[int]*thread{}, files: map[int]*file{}, next: len(rec.nodes) + 1, names: map[string]int{}}
	for path, node := range rec.nodes {
		t.names[path] = node
	}
	ended := make(chan error)
	go func() {
		// All calls of ptrace must come from the thread that started the process. The
		// thread ends with the goroutine, since it is not unlocked.
		runtime.LockOSThread()
		ended <- t.run(cmd)
	}()
	if err := <-ended; err != nil {
		return nil, fmt.Errorf("record %s: %w", filepath.Base(cmd.Path), err)
	}
	return rec, nil
}

// tracer follows one process.
type tracer struct {
	rec     *Recording
	root    string
	pid     int
	memory  *os.File
	threads map[int]*thread
	files   map[int]*file  // open files below root, by descriptor
	names   map[string]int // as the process sees them
	next    int            // node of the next new file
	line    []byte         // of output that has not ended yet
}

// thread is one of the process, within a call when call is not nil.
type thread struct {
	call *call
}

// call is a system call that has begun.
type call struct {
	nr    uint64
	args  [6]uint64
	file  *file
	data  []byte
	path  string
	to    string
	fresh bool // the call makes a file
	since int
}

// file is an open file or folder.
type file struct {
	node   int // folder for one
	path   string
	off    int64
	append bool
}

// kernelCall is struct ptrace_syscall_info of Linux.
type kernelCall struct {
	op   uint8
	_    [3]byte
	arch uint32
	ip   uint64
	sp   uint64
	nr   uint64 // at the end of a call its result
	args [6]uint64
}

// Values of the kernel's headers that no package has.
const (
	getSyscallInfo = 0x420e
	atEntry        = 1
	atExit         = 2
	exitKill       = 0x100000
)

func (t *tracer) run(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return err
	}
	t.pid = cmd.Process.Pid
	defer cmd.Process.Release() // it is waited for here
	var status syscall.WaitStatus
	if _, err := wait(t.pid, &status); err != nil {
		return err
	}
	const options = syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACESYSGOOD | exitKill
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	var err error
	if t.memory, err = os.Open(fmt.Sprintf("/proc/%d/mem", t.pid)); err != nil {
		return err
	}
	defer t.memory.Close()
	t.threads[t.pid] = &thread{}
	if err := syscall.PtraceSyscall(t.pid, 0); err != nil {
		return err
	}
	return t.follow()
}

func wait(pid int, status *syscall.WaitStatus) (int, error) {
	for {
		// WNOTHREAD leaves the children of other threads to who waits for them.
		tid, err := syscall.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if err != syscall.EINTR {
			return tid, err
		}
	}
}

// follow goes from stop to stop until the process has ended. After an error the
// process is killed, and waited for.
func (t *tracer) follow() (fault error) {
	for {
		var status syscall.WaitStatus
		tid, err := wait(-1, &status)
		if err != nil {
			return errors.Join(fault, err)
		}
		switch {
		case (status.Exited() || status.Signaled()) && tid == t.pid:
			if fault == nil && (status.Signaled() || status.ExitStatus() != 0) {
				fault = fmt.Errorf("it ended with exit code %d, signal %d", status.ExitStatus(), status.Signal())
			}
			return fault
		case status.Exited() || status.Signaled():
			delete(t.threads, tid)
			continue
		case !status.Stopped() || fault != nil:
			continue
		}
		if fault = t.stopped(tid, status); fault != nil {
			syscall.Kill(t.pid, syscall.SIGKILL)
		}
	}
}

// stopped handles one stop and lets the thread go on.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) error {
	if t.threads[tid] == nil {
		t.threads[tid] = &thread{}
	}
	signal := status.StopSignal()
	switch {
	case signal == syscall.SIGTRAP|0x80:
		signal = 0
		var info kernelCall
		_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid),
			unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
		switch errno {
		case 0:
		case syscall.ESRCH: // another thread ends the process; that this one has ended is told next
			return nil
		default:
			return fmt.Errorf("%w: %w", ErrUnsupported, errno)
		}
		if err := t.called(t.threads[tid], info); err != nil {
			return err
		}
	case signal == syscall.SIGTRAP || signal == syscall.SIGSTOP:
		signal = 0 // a new thread
	}
	if err := syscall.PtraceSyscall(tid, int(signal)); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}

func (t *tracer) called(th *thread, info kernelCall) (err error) {
	switch info.op {
	case atEntry:
		th.call, err = t.enter(info)
	case atExit:
		c := th.call
		th.call = nil
		if result := int64(info.nr); c != nil && result >= 0 {
			return t.leave(c, result)
		}
	}
	return err
}

func (t *tracer) note(e event) { t.rec.events = append(t.rec.events, e) }

// enter remembers a call that may change a file: its data may be another one when the
// call ends. nil: the call does not matter.
func (t *tracer) enter(info kernelCall) (c *call, err error) {
	c = &call{nr: info.nr, args: info.args, since: len(t.rec.events), file: t.files[int(info.args[0])]}
	switch info.nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		if c.file == nil && (info.nr != unix.SYS_WRITE || info.args[0] != 1) {
			return nil, nil
		}
		c.data, err = t.read(info.args[1], info.args[2])
		return c, err
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_LSEEK:
		if c.file == nil {
			return nil, nil
		}
		return c, nil
	case unix.SYS_CLOSE:
		delete(t.files, int(info.args[0])) // another thread may get the number before this call ends
		return nil, nil
	case unix.SYS_OPENAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT:
		c.path, err = t.path(info.args[0], info.args[1])
		if info.nr == unix.SYS_OPENAT {
			_, there := t.names[c.path]
			c.fresh = !there
		}
		return c, err
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		if c.path, err = t.path(info.args[0], info.args[1]); err == nil {
			c.to, err = t.path(info.args[2], info.args[3])
		}
		return c, err
	case unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_WRITEV, unix.SYS_FALLOCATE, unix.SYS_SYNC_FILE_RANGE, unix.SYS_DUP, unix.SYS_DUP3:
		if c.file != nil {
			return nil, fmt.Errorf("it changes %s by system call %d", c.file.path, info.nr)
		}
	case unix.SYS_SENDFILE, unix.SYS_MSYNC, unix.SYS_SYNC, unix.SYS_SYNCFS:
		if info.nr != unix.SYS_SENDFILE || c.file != nil {
			return nil, fmt.Errorf("it uses system call %d", info.nr)
		}
	case unix.SYS_FCNTL:
		if c.file != nil && (info.args[1] == unix.F_DUPFD || info.args[1] == unix.F_DUPFD_CLOEXEC) {
			return nil, fmt.Errorf("it has two descriptors of %s", c.file.path)
		}
	case unix.SYS_MMAP:
		if f := t.files[int(int32(info.args[4]))]; f != nil && info.args[2]&unix.PROT_WRITE != 0 && info.args[3]&unix.MAP_SHARED != 0 {
			return nil, fmt.Errorf("it can change %s in memory", f.path)
		}
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE:
		if out := t.files[int(info.args[2])]; out != nil {
			return nil, fmt.Errorf("it changes %s by system call %d", out.path, info.nr)
		}
	}
	return nil, nil
}

// leave records a call that has done something.
func (t *tracer) leave(c *call, result int64) error {
	switch c.nr {
	case unix.SYS_WRITE:
		if c.file == nil {
			t.printed(c.data[:result])
			return nil
		}
		if c.file.append {
			return fmt.Errorf("it appends to %s", c.file.path)
		}
		t.note(event{kind: wrote, node: c.file.node, off: c.file.off, data: c.data[:result]})
		c.file.off += result
	case unix.SYS_PWRITE64:
		t.note(event{kind: wrote, node: c.file.node, off: int64(c.args[3]), data: c.data[:result]})
	case unix.SYS_LSEEK:
		c.file.off = result
	case unix.SYS_FTRUNCATE:
		t.note(event{kind: resized, node: c.file.node, off: int64(c.args[1])})
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if c.file.node == folder {
			t.note(event{kind: syncedDir, path: c.file.path, since: c.since})
		} else {
			t.note(event{kind: synced, node: c.file.node, since: c.since})
		}
	case unix.SYS_OPENAT:
		return t.opened(c, int(result))
	default:
		return t.named(c)
	}
	return nil
}

// opened takes a new descriptor.
func (t *tracer) opened(c *call, fd int) error {
	if c.path == "" {
		return nil
	}
	info, err := os.Stat(filepath.Join(t.root, c.path))
	if err != nil {
		return fmt.Errorf("look at what it opened: %w", err)
	}
	f := &file{path: c.path, node: t.names[c.path], append: c.args[2]&unix.O_APPEND != 0}
	switch {
	case info.IsDir():
		f.node = folder
	case c.fresh:
		f.node = t.next
		t.next++
		t.names[c.path] = f.node
		t.note(event{kind: made, path: c.path, node: f.node})
	case c.args[2]&unix.O_TRUNC != 0:
		t.note(event{kind: resized, node: f.node})
	}
	t.files[fd] = f
	return nil
}

// named records a change of names.
func (t *tracer) named(c *call) error {
	if c.path == "" && c.to == "" {
		return nil
	}
	e := event{path: c.path, to: c.to, node: t.names[c.path]}
	switch c.nr {
	case unix.SYS_MKDIRAT:
		e.kind = madeDir
		t.names[c.path] = folder
	case unix.SYS_UNLINKAT:
		e.kind = removed
		delete(t.names, c.path)
	default:
		if c.path == "" || c.to == "" || filepath.Dir(c.path) != filepath.Dir(c.to) {
			return fmt.Errorf("it moves %q to %q, between folders", c.path, c.to)
		}
		e.kind = linked
		if t.names[c.to] = e.node; c.nr != unix.SYS_LINKAT {
			e.kind = renamed
			delete(t.names, c.path)
		}
	}
	t.note(e)
	return nil
}

// printed records the lines of the output that have ended.
func (t *tracer) printed(data []byte) {
	t.line = append(t.line, data...)
	for {
		line, rest, ended := bytes.Cut(t.line, []byte("\n"))
		if !ended {
			return
		}
		t.note(event{kind: said, text: string(line)})
		t.line = rest
	}
}

// read copies memory of the process.
func (t *tracer) read(at, n uint64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := t.memory.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("read its memory: %w", err)
	}
	return b, nil
}

// path reads the name of a file, relative to root; empty where it lies elsewhere.
func (t *tracer) path(dir, at uint64) (string, error) {
	var name []byte
	for page := make([]byte, 256); ; at += uint64(len(page)) {
		n, err := t.memory.ReadAt(page, int64(at))
		if err != nil && (err != io.EOF && n == 0) {
			return "", fmt.Errorf("read a name: %w", err)
		}
		text, _, ended := bytes.Cut(page[:n], []byte{0})
		if name = append(name, text...); ended || n < len(page) {
			break
		}
	}
	full := string(name)
	if !filepath.IsAbs(full) {
		from := fmt.Sprintf("/proc/%d/cwd", t.pid)
		if int32(dir) != unix.AT_FDCWD {
			from = fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(dir))
		}
		in, err := os.Readlink(from)
		if errors.Is(err, os.ErrNotExist) {
			return "", nil // the call fails, too
		}
		if err != nil {
			return "", fmt.Errorf("find the folder of a name: %w", err)
		}
		full = filepath.Join(in, full)
	}
	rel, err := filepath.Rel(t.root, full)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", nil
	}
	return rel, nil
}
