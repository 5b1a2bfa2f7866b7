package main

import (
	"context"
	"fmt"
	"strings"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
	"txlens/transport"
)

type replayCmd struct {
	File string `arg:"" type:"existingfile" help:"Bundle written with --record."`
	JSON bool   `                           help:"Print the ExplanationResult as one line of JSON." name:"json"`
	HTML string `       type:"path"         help:"Also write a self-contained HTML report."         name:"html" placeholder:"FILE"`

	exportFlags  `embed:""`
	settings.Own `embed:"" group:"Your own data:"`
}

// Run explains a recorded transaction from its bundle alone.
func (cmd *replayCmd) Run(ctx context.Context, c console) error {
	if err := cmd.exportFlags.check(cmd.JSON, false); err != nil {
		return err
	}
	b, err := upstream.ReadBundle(cmd.File)
	if err != nil {
		return settings.InputError{Err: err}
	}
	tellPrivate(c, &cmd.Own, cmd.HTML != "" || cmd.chosen() != nil)
	if text := overlayDiffers(b.Meta, cmd.Overlay()); text != "" {
		fmt.Fprintln(c.err, "txlens:", text)
	}
	res, err := app.ReplayOver(ctx, b, transport.RunSpec{}, cmd.Overlay())
	if err != nil {
		return err
	}
	show := explainCmd{JSON: cmd.JSON, HTML: cmd.HTML, exportFlags: cmd.exportFlags}
	return show.show(c, res, "")
}

// tellPrivate decides whether private labels are shown, and says if they are not: a report or an
// export is made to be passed on.
func tellPrivate(c console, own *settings.Own, passedOn bool) {
	if !passedOn {
		own.Local()
		return
	}
	if n := own.Withheld(); n > 0 {
		fmt.Fprintf(c.err, "txlens: private labels (%d) are left out of what may be passed on; --share-labels shows them\n", n)
	}
}

// overlayDiffers says how the data of the user differs from that of the analysis of a bundle; empty
// if it does not.
func overlayDiffers(meta upstream.Meta, own *overlay.Data) string {
	files := strings.Join(meta.OverlayFiles, ", ")
	switch now := own.Digest(); {
	case now == meta.Overlay:
		return ""
	case meta.Overlay == "":
		return "the bundle was recorded without --data-dir; names and amounts may differ"
	case now == "":
		return "the bundle was recorded with --data-dir (" + files + "); without it names and amounts may differ"
	case overlay.SameFiles(now, meta.Overlay):
		return "the bundle was recorded with the same data, and other rules for its private labels; names may differ"
	}
	return "the bundle was recorded with other data than that of --data-dir (" + files + "); names and amounts may differ"
}
