import type { DeployHistory, GateMeasurement, GateResult } from 'muster-client';
import { ActionButton } from '../../actions/action-button';
import { answerGate } from '../../actions/gate-actions';
import { Badge } from '../../ui/badge';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { counted, inWords } from '../../ui/words';

/** Gates of a deploy with their results; those that a person has to decide can be answered. */
export function Gates({ deploy }: { deploy: DeployHistory }) {
  const { deployMarker, gates } = deploy;
  if (!gates) return null;
  const { requestId, deployId } = deployMarker;
  const open = gates.find(({ type, state }) => state === 'PAUSED' || (state === 'WAITING' && type === 'MANUAL'));
  const texts = deploy.deploy?.canaryDeploySettings?.gates ?? [];
  const asks = open && texts[open.gate - 1]?.message;
  return (
    <section aria-label="Gates">
      <h2>Gates</h2>
      {open && (
        <div className="notice busy">
          <p>
            Gate {open.gate} after step {open.step} waits for an answer{asks !== undefined && `: ${asks}`}
          </p>
          <div className="buttons">
            <ActionButton action={answerGate(requestId, deployId, open, true)} className="primary" />
            <ActionButton action={answerGate(requestId, deployId, open, false)} />
          </div>
        </div>
      )}
      <Table
        label="Gates"
        rows={gates}
        columns={columns}
        keyOf={({ step, gate }) => `${step}.${gate}`}
        empty="No gate was opened."
      />
    </section>
  );
}

const columns: readonly Column<GateResult>[] = [
  { id: 'step', title: 'Step', cell: ({ step }) => step },
  { id: 'gate', title: 'Gate', cell: ({ gate, type }) => `${gate} ${inWords(type)}` },
  { id: 'state', title: 'State', cell: ({ state }) => <Badge of="gate" state={state} /> },
  { id: 'since', title: 'Since', cell: ({ since }) => <Time at={since} /> },
  { id: 'ended', title: 'Ended', cell: ({ endedAt }) => endedAt !== undefined && <Time at={endedAt} /> },
  { id: 'user', title: 'Who', cell: ({ user }) => user },
  { id: 'message', title: 'Why', cell: ({ message }) => message },
  {
    id: 'measurements',
    title: 'Measurements',
    cell: ({ measurements }) => <Measurements measurements={measurements} />,
  },
];

function Measurements({ measurements }: { measurements: readonly GateMeasurement[] }) {
  if (measurements.length === 0) return null;
  return (
    <details>
      <summary>{counted(measurements.length, 'measurement')}</summary>
      <ul>
        {measurements.map(({ at, outcome, value, message }) => (
          <li key={at}>
            <Time at={at} /> {inWords(outcome)}
            {value !== undefined && ` ${value}`}
            {message !== undefined && `: ${message}`}
          </li>
        ))}
      </ul>
    </details>
  );
}
