// Package app puts the parts of the service together: the analyses, the store, the async
// jobs, the sale, the public server and the admin listener. The command is one of its
// users; another program may be one, too:
//
//	srv, err := app.New(ctx, app.Options{Listen: "127.0.0.1:8402", DataDir: "data"})
//	if err != nil {
//		return err
//	}
//	return errors.Join(srv.Serve(ctx), srv.Close())
//
// Only this package and the command see both the transport and the storage.
package app
