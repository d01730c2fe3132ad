// Offline use of the built page: its service worker, and what an installed page is called and looks like.
import { VitePWA } from "vite-plugin-pwa";

/** What the page never asks for, or asks for by itself where it needs it. */
const LEFT_OUT = ["assets/constrain-*.js", "assets/node-folder-*.js"];

/**
 * For the build of the page alone: neither the library nor the development server has a service worker.
 *
 * @param {import("vite").Plugin[]} plugins of the service worker's own build
 */
export function offlinePlugins(plugins) {
  return VitePWA({
    strategies: "injectManifest",
    srcDir: "src/ui/offline",
    filename: "service-worker.ts",
    injectRegister: false, // src/ui/offline/offline.ts does
    manifest: {
      id: "./",
      name: "Wordloom",
      short_name: "Wordloom",
      description: "Type a few words, and a model on your own device writes on from them.",
      lang: "en",
      start_url: "./",
      scope: "./",
      display: "standalone",
      theme_color: "#fdfdfc",
      background_color: "#fdfdfc",
      categories: ["education", "entertainment"],
      icons: [
        { src: "favicon.svg", sizes: "any", type: "image/svg+xml" },
        { src: "icons/192.png", sizes: "192x192", type: "image/png" },
        { src: "icons/512.png", sizes: "512x512", type: "image/png" },
        { src: "icons/maskable-512.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
      ],
    },
    injectManifest: {
      buildPlugins: { vite: plugins },
      globPatterns: ["*.html", "assets/*.{js,css,woff2}", "models/wordloom-stories/*.{json,safetensors}"],
      globIgnores: LEFT_OUT,
      dontCacheBustURLsMatching: /^assets\//, // a hash is in their names
      maximumFileSizeToCacheInBytes: 32 * 1024 * 1024,
    },
  });
}
