import type { DecommissionPlan, PlannedMove } from 'muster-client';
import { Mark } from './badge';
import { Rejections } from './explain';
import { shortHost } from './links';

/** Rows of a table in a dialog; the numbers above it count all. */
const SHOWN = 100;

/** Who moves where, before a machine is emptied. Those that find no room come first. */
export function DecommissionPlanView({ plan }: { plan: DecommissionPlan }) {
  const { moves, moving, waiting } = plan;
  if (moves.length === 0) return <p>No task has to leave it.</p>;
  const inOrder = moves.toSorted((a, b) => rank(a) - rank(b));
  const others = moves.length - moving - waiting;
  return (
    <>
      <Mark tone={plan.fits ? 'good' : 'bad'}>
        {plan.fits ? 'Fits now' : `No room for ${waiting} of ${moves.length}`}
      </Mark>
      <p>
        {moving} move, {waiting} wait for room{others > 0 && `, ${others} are not moved`}.
      </p>
      <table className="changes">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Goes to</th>
          </tr>
        </thead>
        <tbody>
          {inOrder.slice(0, SHOWN).map((move) => (
            <tr key={move.taskId.id}>
              <th scope="row">
                {move.taskId.requestId} #{move.taskId.instanceNo}
              </th>
              <td>
                <Destination move={move} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {moves.length > SHOWN && <p className="faint">And {moves.length - SHOWN} more.</p>}
    </>
  );
}

const rank = ({ outcome }: PlannedMove): number => (outcome === 'WAITS' ? 0 : outcome === 'MOVES' ? 1 : 2);

function Destination({ move: { outcome, to, message, rejections } }: { move: PlannedMove }) {
  if (to) return `${shortHost(to.host)}, rack ${to.rackId}`;
  return (
    <>
      {message}
      {outcome === 'WAITS' && rejections.length > 0 && <Rejections rejections={rejections} />}
    </>
  );
}
