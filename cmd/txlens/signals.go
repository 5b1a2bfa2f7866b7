package main

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreBrokenPipe keeps a server alive when the reader of its log ends: a write to a closed
// stdout or stderr would end the process. Commands that print for a pipe keep that.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// onHangup calls reload at each SIGHUP, which would end the process, until stop is called.
func onHangup(reload func()) (stop func()) {
	hangups, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(ended)
		for {
			select {
			case <-hangups:
				reload()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(done)
		<-ended
	}
}
