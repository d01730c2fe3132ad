/** The text of every file under shaders/, by its path there ("gemv.wgsl", "lib/half.wgsl"); bundled as strings. */
const bundled = import.meta.glob<string>("/shaders/**/*.wgsl", { query: "?raw", import: "default", eager: true });

export const shaderFiles: ReadonlyMap<string, string> = new Map(
  Object.entries(bundled).map(([path, text]) => [path.replace("/shaders/", ""), text]),
);
