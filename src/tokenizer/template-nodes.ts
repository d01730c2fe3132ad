/** The syntax tree that the parser of `@huggingface/jinja` 0.5 makes of a template; its own types are not exported. */

export interface IdentifierNode {
  type: "Identifier";
  value: string;
}

export interface CallNode {
  type: "CallExpression";
  callee: ExpressionNode;
  args: ArgumentNode[];
}

export type ArgumentNode =
  | ExpressionNode
  | { type: "KeywordArgumentExpression"; key: IdentifierNode; value: ExpressionNode }
  | { type: "SpreadExpression"; argument: ExpressionNode }
  | { type: "KeywordSpreadExpression"; argument: ExpressionNode };

export interface SliceNode {
  type: "SliceExpression";
  start: ExpressionNode | undefined;
  stop: ExpressionNode | undefined;
  step: ExpressionNode | undefined;
}

export interface MemberNode {
  type: "MemberExpression";
  object: ExpressionNode;
  property: ExpressionNode | SliceNode;
  /** `a[b]`, not `a.b`. */
  computed: boolean;
}

export type ExpressionNode =
  | { type: "IntegerLiteral" | "FloatLiteral"; value: number }
  | { type: "StringLiteral"; value: string }
  | { type: "ArrayLiteral" | "TupleLiteral"; value: ExpressionNode[] }
  | { type: "ObjectLiteral"; value: Map<ExpressionNode, ExpressionNode> }
  | IdentifierNode
  | CallNode
  | MemberNode
  | { type: "UnaryExpression"; operator: { value: string }; argument: ExpressionNode }
  | { type: "BinaryExpression"; operator: { value: string }; left: ExpressionNode; right: ExpressionNode }
  | { type: "FilterExpression"; operand: ExpressionNode; filter: IdentifierNode | CallNode }
  | { type: "TestExpression"; operand: ExpressionNode; negate: boolean; test: IdentifierNode }
  | { type: "SelectExpression"; lhs: ExpressionNode; test: ExpressionNode }
  | { type: "Ternary"; condition: ExpressionNode; trueExpr: ExpressionNode; falseExpr: ExpressionNode };

/** A name, or names to unpack into. */
export type TargetNode = IdentifierNode | { type: "TupleLiteral"; value: TargetNode[] };

export type ParameterNode =
  IdentifierNode | { type: "KeywordArgumentExpression"; key: IdentifierNode; value: ExpressionNode };

export interface ForNode {
  type: "For";
  loopvar: TargetNode;
  iterable: ExpressionNode;
  body: StatementNode[];
  defaultBlock: StatementNode[];
}

export interface SetNode {
  type: "Set";
  assignee: TargetNode | MemberNode;
  value: ExpressionNode | null;
  body: StatementNode[];
}

export type StatementNode =
  | { type: "If"; test: ExpressionNode; body: StatementNode[]; alternate: StatementNode[] }
  | ForNode
  | SetNode
  | { type: "Macro"; name: IdentifierNode; args: ParameterNode[]; body: StatementNode[] }
  | { type: "CallStatement"; call: CallNode; callerArgs: ParameterNode[] | null; body: StatementNode[] }
  | { type: "FilterStatement"; filter: IdentifierNode | CallNode; body: StatementNode[] }
  | { type: "Break" | "Continue" | "Comment" }
  | ExpressionNode;

export interface ProgramNode {
  body: StatementNode[];
}
