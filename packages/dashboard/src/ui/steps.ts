/**
 * Nodes in steps: each stands behind those that it follows, and no later than it has to. Parents that are not among the nodes count as none;
 * nodes that follow each other in a circle, which the service refuses, come last.
 */
export function stepsOf<Node>(
  nodes: readonly Node[],
  idOf: (node: Node) => string,
  parentsOf: (node: Node) => readonly string[],
): readonly (readonly Node[])[] {
  const steps: Node[][] = [];
  let left = nodes;
  while (left.length > 0) {
    const ahead = new Set(left.map(idOf));
    const step = left.filter((node) => !parentsOf(node).some((parent) => ahead.has(parent)));
    if (step.length === 0) return [...steps, left];
    steps.push(step);
    const taken = new Set(step.map(idOf));
    left = left.filter((node) => !taken.has(idOf(node)));
  }
  return steps;
}
