// What an adapter's load() gets when it runs in Node; also runs one row when started by run.mjs.
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

export function nodeContext({ shape, models, modules, options, contextLength, log = () => {} }) {
  const require = createRequire(path.join(path.resolve(modules), "x.js"));
  return {
    host: "node",
    shape,
    options,
    contextLength,
    log,
    modelDir: path.resolve(models, shape.name),
    modelRoot: path.resolve(models),
    async import(name) {
      // Resolve the package from the given node_modules folder, taking its ESM entry where it has one.
      const { default: pkg } = await import(pathToFileURL(path.join(path.resolve(modules), name, "package.json")), {
        with: { type: "json" },
      });
      const entry = pkg.exports?.node?.import?.default ?? pkg.exports?.["."]?.node ?? pkg.exports?.["."]?.import;
      const file = typeof entry === "string" ? path.join(path.resolve(modules), name, entry) : require.resolve(name);
      return import(pathToFileURL(file));
    },
  };
}
