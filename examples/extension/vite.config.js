import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const manifest = {
  name: "manifest",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "manifest.json", source: readFileSync("manifest.json") });
  },
};

export default defineConfig({
  base: "./",
  plugins: [manifest],
  build: { rolldownOptions: { input: ["panel.html", "background.js"], output: { entryFileNames: "[name].js" } } },
  publicDir: "../../public", // the model; in an extension of your own: public/models/wordloom-stories
  worker: { format: "es" }, // Wordloom's worker loads parts of itself when it needs them
});
