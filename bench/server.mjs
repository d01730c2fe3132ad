// Static file server on localhost: the harness, /modules/ (a node_modules folder) and /models/.
import http from "node:http";
import fs from "node:fs";
import path from "node:path";

const TYPES = {
  html: "text/html",
  js: "text/javascript",
  mjs: "text/javascript",
  json: "application/json",
  wasm: "application/wasm",
};

export function serve({ root, modules, models, mounts: extra = [], isolated, importMap, port = 0 }) {
  const server = http.createServer((req, res) => {
    const url = decodeURIComponent(new URL(req.url, "http://localhost").pathname);
    const mounts = [...extra, ["/modules/", modules], ["/models/", models], ["/", root]];
    const [prefix, dir] = mounts.find(([p]) => url.startsWith(p));
    const file = path.join(dir, path.normalize("/" + url.slice(prefix.length)));
    if (isolated) {
      res.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      res.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
      res.setHeader("Cross-Origin-Resource-Policy", "same-origin");
    }
    fs.stat(file, (err, st) => {
      if (err || !st.isFile()) {
        res.statusCode = 404;
        res.end();
        return;
      }
      res.setHeader("Content-Type", TYPES[path.extname(file).slice(1)] ?? "application/octet-stream");
      if (file.endsWith(".html")) {
        const html = fs
          .readFileSync(file, "utf8")
          .replace("<script", `<script type="importmap">${JSON.stringify({ imports: importMap })}</script>\n<script`);
        res.end(html);
        return;
      }
      const m = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? "");
      const from = m ? Number(m[1]) : 0,
        to = m && m[2] ? Number(m[2]) : st.size - 1;
      res.statusCode = m ? 206 : 200;
      if (m) res.setHeader("Content-Range", `bytes ${from}-${to}/${st.size}`);
      res.setHeader("Content-Length", to - from + 1);
      if (req.method === "HEAD") {
        res.end();
        return;
      }
      fs.createReadStream(file, { start: from, end: to }).pipe(res);
    });
  });
  return new Promise((ok) =>
    server.listen(port, "127.0.0.1", () => ok({ server, origin: `http://localhost:${server.address().port}` })),
  );
}
