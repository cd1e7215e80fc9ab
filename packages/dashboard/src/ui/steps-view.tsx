import type { ReactNode } from 'react';
import { stepsOf } from './steps';

/** Who follows whom: steps one after the other, in each of them what nothing in it follows. */
export function Steps<Node>(props: {
  label: string;
  nodes: readonly Node[];
  idOf: (node: Node) => string;
  parentsOf: (node: Node) => readonly string[];
  children: (node: Node) => ReactNode;
}) {
  const { nodes, idOf, parentsOf } = props;
  return (
    <ol className="steps" aria-label={props.label}>
      {stepsOf(nodes, idOf, parentsOf).map((step) => (
        <li key={step.map(idOf).join(' ')}>
          <ul>
            {step.map((node) => (
              <li key={idOf(node)} className="step">
                {props.children(node)}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}
