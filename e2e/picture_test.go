package e2e

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/report"
	"txlens/engine/upstream"
	"txlens/testkit/chrome"
	"txlens/testkit/golden"
)

// TestReportPicture: the picture of the README is small enough to be loaded with it. With
// -update it is rendered from the first transaction of the demo.
func TestReportPicture(t *testing.T) {
	const width, height, most = 1000, 960, 150_000
	path := filepath.Join("..", "docs", "report.png")
	if golden.Updating() {
		page := chrome.Shared(t).Open(t, demoReport(t), chrome.Look{Width: width, Height: height})
		full, err := png.Decode(bytes.NewReader(page.Screenshot()))
		if err != nil {
			t.Fatal(err)
		}
		var small bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewColors(full, image.Rect(0, 0, width, height))); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, path, small.Bytes())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size, err := png.DecodeConfig(bytes.NewReader(text))
	if err != nil || size.Width != width || size.Height != height || len(text) > most {
		t.Errorf("%v, %d x %d, %d bytes", err, size.Width, size.Height, len(text))
	}
}

// demoReport is the HTML report of the first transaction of the demo.
func demoReport(t *testing.T) []byte {
	t.Helper()
	b, err := upstream.ReadBundle(filepath.Join("..", "cmd", "txlens", "demo", "1-swap.txlens"))
	if err != nil {
		t.Fatal(err)
	}
	x := analysis.New(analysis.Options{SourcesOff: true})
	defer x.Close()
	req := api.Request{TxHash: b.Meta.TxHash, ChainID: b.Meta.ChainID}
	res, err := x.Explain(t.Context(), analysis.Input{Request: req, World: upstream.ReplaySession(b, nil)})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := report.HTML(&page, res); err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

// fewColors is a part of a picture in its 64 most frequent colours.
func fewColors(from image.Image, part image.Rectangle) *image.Paletted {
	count := map[color.RGBA]int{}
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			count[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B), int(a.A)-int(b.A))
	})
	var palette color.Palette
	for _, c := range all[:min(64, len(all))] {
		palette = append(palette, c)
	}
	out := image.NewPaletted(part, palette)
	draw.Draw(out, part, from, part.Min, draw.Src)
	return out
}
