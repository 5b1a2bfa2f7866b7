// Package chrome opens pages in a real headless Chromium, for tests only. It
// says what a page did while it was opened: requests, dialogs, scripts, messages
// of the console. Nothing that a page asks for leaves the machine: no name is
// resolved. Where no Chromium is installed tests skip, unless
// TXLENS_REQUIRE_BROWSER is set: then they fail.
package chrome

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Look is how a page is looked at.
type Look struct {
	Width, Height int64 // of the window, in CSS pixels
	Dark          bool  // the scheme of colours that the reader prefers
	Phone         bool  // lay out as a phone does: the page's viewport tag counts
}

// A browser that hangs fails the test.
const (
	patience = 60 * time.Second // for one step
	lifetime = 5 * time.Minute  // of one page
)

// programs are the names that Chromium has, the first that is found is taken.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// flags keep the browser from talking to anyone but the test.
var flags = []chromedp.ExecAllocatorOption{
	chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless,
	chromedp.Flag("disable-quic", true),
	chromedp.Flag("disable-background-networking", true),
	chromedp.Flag("disable-component-update", true),
	chromedp.Flag("disable-sync", true),
	chromedp.Flag("disable-default-apps", true),
	chromedp.Flag("disable-extensions", true),
	chromedp.Flag("disable-dev-shm-usage", true),
	chromedp.Flag("force-color-profile", "srgb"),
	chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
}

// Browser is one running Chromium with a profile of its own. Safe for concurrent use.
type Browser struct{ ctx context.Context }

// shared is the browser that all tests of a process use.
var shared struct {
	sync.Mutex
	browser *Browser
	stop    func()
}

// Shared is the browser of this process, which is started at the first call; where there is
// none it skips the test. StopShared ends it. Each page is a tab of its own.
func Shared(tb testing.TB) *Browser {
	tb.Helper()
	program := find(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.browser == nil {
		b, stop, err := start(program)
		if err != nil {
			tb.Fatal(err)
		}
		shared.browser, shared.stop = b, stop
	}
	return shared.browser
}

// StopShared ends the browser of this process, if there is one. Call it at the end of TestMain.
func StopShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		shared.stop()
		shared.browser = nil
	}
}

// find is the path of Chromium. Without one it skips the test, or fails it.
func find(tb testing.TB) (program string) {
	tb.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("TXLENS_REQUIRE_BROWSER") != "" {
		tb.Fatalf("a browser is required here and none of %v is installed", programs)
	}
	tb.Skipf("no browser: none of %v is installed", programs)
	return ""
}

func start(program string) (b *Browser, stop func(), err error) {
	ctx, end := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(flags), chromedp.ExecPath(program))...)
	ctx, leave := chromedp.NewContext(ctx)
	stop = func() {
		leave()
		end()
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return &Browser{ctx}, stop, nil
}

// Page is an open page. It is owned by its test.
type Page struct {
	URL string // where the document lies
	ctx context.Context
	tb  testing.TB

	mu    sync.Mutex
	seen  Seen
	noted chan struct{} // closed when seen has changed
}

// Seen is what a page did since it was opened.
type Seen struct {
	Requests []string // addresses asked for, the document's own among them
	Dialogs  []string // texts of alert, confirm, prompt
	Scripts  []string // addresses of scripts that the engine compiled; of an inline one, the page's
	Console  []string // messages, refusals by the content security policy among them
	Frames   int      // frames within the page
}

// Open lays the document in a file, opens it and waits until it is loaded. It is
// closed at the end of the test, or by Close.
func (b *Browser) Open(tb testing.TB, document []byte, look Look) *Page {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "page.html")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		tb.Fatal(err)
	}
	return b.Visit(tb, "file://"+file, look)
}

// Visit is Open for a document that is served at 127.0.0.1.
func (b *Browser) Visit(tb testing.TB, url string, look Look) *Page {
	tb.Helper()
	limited, cancel := context.WithTimeout(b.ctx, lifetime)
	tb.Cleanup(cancel)
	tab, leave := chromedp.NewContext(limited)
	tb.Cleanup(leave)
	p := &Page{URL: url, ctx: tab, tb: tb, noted: make(chan struct{})}
	if err := chromedp.Listen(tab, p.note); err != nil {
		tb.Fatalf("open a tab: %v", err)
	}
	p.do(report)
	p.Turn(look)
	p.do(chromedp.Navigate(url))
	// What a page does by itself soon after loading belongs to it: a refresh, an
	// image that failed, a script that was put off.
	p.do(chromedp.Sleep(150 * time.Millisecond))
	return p
}

// report has the browser tell of requests and scripts.
func report(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
		return chromedp.Void{}, err
	}
	_, err := cdp.Call(ctx, t, debugger.Enable, debugger.EnableParams{})
	return chromedp.Void{}, err
}

// Turn has the open page looked at in another way.
func (p *Page) Turn(look Look) {
	p.tb.Helper()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		metrics := emulation.SetDeviceMetricsOverrideParams{Width: look.Width, Height: look.Height, DeviceScaleFactor: 1, Mobile: look.Phone}
		if _, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, metrics); err != nil {
			return err
		}
		_, err := cdp.Call(
			ctx,
			t,
			emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}},
		)
		return err
	}))
}

// note keeps what the page did. It runs on the goroutine that reads the
// browser's messages and must not wait.
func (p *Page) note(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		close(p.noted)
		p.noted = make(chan struct{})
	}()
	if ev, ok := ev.(*page.EventJavascriptDialogOpening); ok {
		p.seen.Dialogs = append(p.seen.Dialogs, ev.Message)
		go p.dismiss()
	}
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.seen.Requests = append(p.seen.Requests, ev.Request.URL)
	case *debugger.EventScriptParsed:
		if ev.URL != "" { // without address: an expression of the driver
			p.seen.Scripts = append(p.seen.Scripts, ev.URL)
		}
	case *page.EventFrameAttached:
		p.seen.Frames++
	case *runtime.EventConsoleAPICalled:
		p.seen.Console = append(p.seen.Console, string(ev.Type))
	case *runtime.EventExceptionThrown:
		p.seen.Console = append(p.seen.Console, ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		p.seen.Console = append(p.seen.Console, ev.Entry.Text)
	}
}

// dismiss closes a dialog, which else stops the page for ever.
func (p *Page) dismiss() {
	_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
}

// Seen is what the page did.
func (p *Page) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Await waits until what the page did satisfies a condition.
func (p *Page) Await(done func(Seen) bool) {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		p.mu.Lock()
		seen, noted := p.seen, p.noted
		p.mu.Unlock()
		if done(seen) {
			return
		}
		select {
		case <-noted:
		case <-ctx.Done():
			p.tb.Fatalf("%s did not do what is awaited: %+v", p.URL, seen)
		}
	}
}

// Close closes the tab before the test ends.
func (p *Page) Close() {
	p.tb.Helper()
	if err := chromedp.Cancel(p.ctx); err != nil {
		p.tb.Errorf("close %s: %v", p.URL, err)
	}
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.tb.Helper()
	run(p, chromedp.Steps(steps...))
}

func run[T any](p *Page, action chromedp.Action[T]) T {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		p.tb.Fatalf("%s: %v", p.URL, err)
	}
	return v
}

// Eval is the value of an expression of JavaScript on the page, which runs
// whatever the page's own policy says of scripts.
func Eval[T any](p *Page, expression string) T {
	p.tb.Helper()
	return run(p, chromedp.Evaluate[T](expression))
}

// Settle is the value that a promise of JavaScript on the page comes to.
func Settle[T any](p *Page, promise string) T {
	p.tb.Helper()
	return run(p, chromedp.Evaluate[T](promise, chromedp.EvalAwaitPromise))
}

// Screenshot is the whole page as PNG.
func (p *Page) Screenshot() []byte {
	p.tb.Helper()
	return run(p, chromedp.FullScreenshot(100))
}

// PDF is the page as it would be printed on A4.
func (p *Page) PDF() []byte {
	p.tb.Helper()
	return run(p, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPrintBackground()))
}

// keys are the codes of keys that write no character.
var keys = map[string]int64{
	"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}

// Press presses and releases a key, named as KeyboardEvent.key names it.
func (p *Page) Press(key string) {
	p.tb.Helper()
	code, known := keys[key]
	if !known {
		p.tb.Fatalf("no key %q", key)
	}
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: key, Code: key, WindowsVirtualKeyCode: code}
		if key == "Enter" {
			down.Type, down.Text = input.DispatchKeyEventTypeKeyDown, "\r"
		}
		up := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key, Code: key, WindowsVirtualKeyCode: code}
		for _, event := range []input.DispatchKeyEventParams{down, up} {
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, event); err != nil {
				return err
			}
		}
		return nil
	}))
}
