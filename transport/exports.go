package transport

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/export"
)

// pathRunExport is where a finished run or job is written in other formats.
const pathRunExport = "/explain/run/{requestId}/export/{format}"

// exportPolicy lets a browser that opens a drawing run nothing and ask nobody.
const exportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// cutRunExport cuts the id and the format from a path that is one of pathRunExport.
func cutRunExport(path []byte) (id, format []byte, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte("/explain/run/"))
	if !ok {
		return nil, nil, false
	}
	id, format, ok = bytes.Cut(rest, []byte("/export/"))
	return id, format, ok && len(id) > 0 && len(format) > 0 && !bytes.ContainsRune(id, '/') && !bytes.ContainsRune(format, '/')
}

// runExport answers GET /explain/run/{requestId}/export/{format}.
func (s *Server) runExport(ctx *fasthttp.RequestCtx) {
	if s.manageReadPath(ctx) {
		return
	}
	rawID, name, _ := cutRunExport(ctx.Path())
	format, known := export.Find(string(name))
	if !known {
		s.failWith(ctx, &api.BadRequest{Field: "format", Reason: "must be one of " + strings.Join(export.Names(), ", ")})
		return
	}
	s.finishedResult(ctx, string(rawID), func(res *api.Result) { s.sendExport(ctx, format, res) })
}

func (s *Server) sendExport(ctx *fasthttp.RequestCtx, format *export.Format, res *api.Result) {
	var buf bytes.Buffer
	if err := format.Write(&buf, res); err != nil {
		s.failWith(ctx, err)
		return
	}
	ctx.SetContentType(format.Media)
	ctx.Response.Header.Set("Content-Disposition", `inline; filename="`+format.Name()+`"`)
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, exportPolicy)
	ctx.Response.SetBodyRaw(buf.Bytes())
}
