import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const NODE_GLOBALS = ["Buffer", "console", "fetch", "performance", "process", "setTimeout", "clearTimeout", "URL"];
const BROWSER_GLOBALS = [
  ...["window", "document", "location", "navigator", "crossOriginIsolated", "Blob", "URLSearchParams"],
  ...["BroadcastChannel", "GPUAdapter", "GPUBuffer", "GPUDevice", "__gpuProbe"],
];

export default defineConfig(
  globalIgnores(["dist/", "dist-lib/", "training/", "public/", "test-results/", ".cache/"]),
  js.configs.recommended,
  {
    files: ["**/*.{ts,mts}"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true, allowArray: true },
      ],
      // A stopped run rejects with its signal's reason, whatever the caller gave.
      "@typescript-eslint/prefer-promise-reject-errors": "off",
      // An interface may promise what one of its implementations has at once.
      "@typescript-eslint/require-await": "off",
      // Lit calls a template's listeners with the element as `this`.
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
    },
  },
  // Projects of their own, which have the built package; e2e/examples.spec.ts checks their types.
  { files: ["examples/**/*.ts"], extends: [tseslint.configs.disableTypeChecked] },
  {
    files: ["**/*.test.ts"],
    rules: { "@typescript-eslint/no-unsafe-assignment": "off" }, // expect.any() is an any
  },
  {
    files: ["**/*.{js,mjs}"],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, "readonly"])) },
  },
  {
    files: ["bench/page/*", "bench/hosts.mjs"], // hosts.mjs: what it evaluates in the page
    languageOptions: { globals: Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, "readonly"])) },
  },
);
