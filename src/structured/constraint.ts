/** What an answer is held to, checked in shape only; like everything in a request it can be posted to a worker. */
export type Constraint =
  /** `schema` true: any JSON. */
  | { kind: "json-schema"; schema: unknown }
  | { kind: "regex"; source: string; flags: string }
  /** EBNF, as xgrammar reads it. */
  | { kind: "grammar"; text: string }
  /** None of them empty; at least one. */
  | { kind: "choice"; texts: readonly string[] };
