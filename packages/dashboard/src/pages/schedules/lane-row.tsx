import type { RequestParent } from 'muster-client';
import { openAction } from '../../actions/action';
import { requestActions } from '../../actions/request-actions';
import { RequestLink, Go, paths } from '../../ui/links';
import { MenuButton } from '../../ui/menu';
import { useExactTime } from '../../ui/time';
import { clustered, summary, type Cluster, type Window } from './lanes';
import type { Lane } from './reads';

/** Marks that are nearer than this part of the lane are drawn as one. */
const SLOTS = 160;

/** One request: its name, its runs on the time axis, and what may be done. */
export function LaneRow(props: { lane: Lane; window: Window; now: number; parent: RequestParent | undefined }) {
  const { lane, now, parent } = props;
  const { from, to } = props.window;
  const place = (at: number): string => `${(Math.min(Math.max(at, from), to) - from) / ((to - from) / 100)}%`;
  const actions = parent ? requestActions(parent).filter(({ id }) => ['run', 'pause', 'unpause'].includes(id)) : [];
  return (
    <li className="lane">
      <span className="lane-name">
        <RequestLink id={lane.requestId} />{' '}
        <Go to="/schedules" search={{ requestId: lane.requestId }}>
          alone
        </Go>
      </span>
      <span className="track" role="group" aria-label={`${lane.requestId}: ${summary(lane.marks)}`}>
        {now > from && now < to && <span className="now" style={{ insetInlineStart: place(now) }} />}
        {clustered(lane.marks, from, (to - from) / SLOTS).map((cluster) => (
          <Dot key={cluster.from} cluster={cluster} place={place(cluster.from)} />
        ))}
      </span>
      {actions.length > 0 && (
        <MenuButton
          label={`Actions of ${lane.requestId}`}
          text="⋯"
          choices={actions.map((action) => ({ label: action.label, onChoose: () => openAction.set(action) }))}
        />
      )}
    </li>
  );
}

const signs = { failed: '✕', skipped: '○', late: '▲', running: '◐', done: '●', planned: '·' } as const;

function Dot({ cluster: { marks, kind, from }, place }: { cluster: Cluster; place: string }) {
  const at = useExactTime(from);
  const [mark] = marks;
  const text = marks.length > 1 ? `${at}, ${marks.length} together: ${summary(marks)}` : `${at}: ${mark!.text}`;
  const task = marks.find((each) => each.kind === kind)?.taskId;
  const shape = <span aria-hidden="true">{signs[kind]}</span>;
  return (
    <span className={`dot ${kind}`} style={{ insetInlineStart: place }} title={text}>
      {task === undefined ? (
        shape
      ) : (
        <Go to={paths.task(task)}>
          {shape}
          <span className="hidden">{text}</span>
        </Go>
      )}
    </span>
  );
}
