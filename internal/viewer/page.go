package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// asset is a file of the page, in memory: no path of a request is ever opened.
type asset struct {
	body, zipped []byte
	contentType  string
	tag          string
}

// contentTypes are what the page is made of. The tables of the system that mime reads differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

const indexPage = "index.html"

var assets = loadAssets()

func loadAssets() map[string]*asset {
	all := map[string]*asset{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		all[strings.TrimPrefix(name, "dist/")] = &asset{
			body: body, zipped: compress(body), contentType: contentTypes[path.Ext(name)],
			tag: hex.EncodeToString(sum[:8]),
		}
		return nil
	})
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return all
}

// servePage answers with a file of the page, or with the page itself: its URLs are its own to read.
func servePage(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	a := assets[name]
	if a == nil {
		if contentTypes[path.Ext(name)] != "" || strings.HasSuffix(name, ".ico") || strings.HasSuffix(name, ".map") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		a = assets[indexPage]
	}
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache") // asked again each time, and 304 where it is the same
	h.Add("Vary", "Accept-Encoding")
	body, tag := a.body, `"`+a.tag+`"`
	if acceptsGzip(r) && len(a.body) >= gzipFrom {
		h.Set("Content-Encoding", "gzip")
		body, tag = a.zipped, `"`+a.tag+`-gzip"`
	}
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // whoever does not read it is gone
	}
}

// PageURL returns the path and query of the page at a run and a service, "" for none.
func PageURL(run, service string) string {
	path, query := "/", url.Values{}
	if run != "" {
		path = "/run"
		query.Set("run", run)
	}
	if service != "" {
		query.Set("service", service)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}
