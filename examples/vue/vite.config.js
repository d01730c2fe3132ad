import { defineConfig } from "vite";
import vue from "@vitejs/plugin-vue";

export default defineConfig({
  base: "./", // works in any folder of a server
  plugins: [vue({ template: { compilerOptions: { isCustomElement: (tag) => tag === "word-loom" } } })],
  publicDir: "../../public", // the model; on a site of your own: public/models/wordloom-stories
  worker: { format: "es" }, // Wordloom's worker loads parts of itself when it needs them
  optimizeDeps: { exclude: ["wordloom"] }, // so that the development server finds the worker beside the library
});
