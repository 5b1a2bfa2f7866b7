package settings

import (
	"io"
	"log/slog"
	"time"
)

// Log says how the server logs.
type Log struct {
	LogFormat string `name:"log-format" enum:"text,json"             default:"text" placeholder:"text|json"             env:"TXLENS_LOG_FORMAT" help:"Format of the log on stderr; durations in JSON are milliseconds."`
	LogLevel  string `name:"log-level"  enum:"debug,info,warn,error" default:"info" placeholder:"debug|info|warn|error" env:"TXLENS_LOG_LEVEL"  help:"Lowest level that is logged; debug adds a line for each probe, document and voucher."`
}

// Logger writes to w in the format and from the level of the settings.
func (f Log) Logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[f.LogLevel]}
	if f.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration { // slog would write nanoseconds
			a.Value = slog.Float64Value(float64(a.Value.Duration().Round(time.Microsecond)) / float64(time.Millisecond))
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, o))
}
