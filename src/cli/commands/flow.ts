import type { FlowRun } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { stateCell } from '../output/output.js';
import { remote } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { shownTime } from '../words.js';

interface Flags {
  run?: string;
  rerun?: string;
  from?: string;
  message?: string;
}

export const flow: Record<string, Define> = { flow: define };

/** Requests that follow each other, and the runs of one flow. */
function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('[request]', 'show who follows whom around this request, with the newest runs')
    .option('--run <flow>', 'show the runs of a flow, which each of them has in TASK_FLOW_ID')
    .option('--rerun <flow>', 'run a flow again, from the request of --from on')
    .option('--from <request>', 'with --rerun: the request whose newest run in the flow is repeated')
    .option('-m, --message <text>', 'with --rerun: reason for it');
  examples(
    command,
    'muster flow report',
    'muster flow --run 1c1b6a0e-6f0a-4a43-9a5e-1f6b8a3c0f11',
    'muster flow --rerun 1c1b6a0e-6f0a-4a43-9a5e-1f6b8a3c0f11 --from report',
  );
  remote<Flags, [string?]>(command, run, async ({ api, out }, { run: shown, rerun, from, message }, requestId) => {
    const asked = [requestId, shown, rerun].filter((each) => each !== undefined);
    if (asked.length !== 1) throw new CliError('usage', 'name one of: a request, --run, --rerun');
    if ((rerun === undefined) !== (from === undefined))
      throw new CliError('usage', '--rerun needs --from, and --from --rerun');
    if (requestId !== undefined) {
      const found = await api.flows.ofRequest({ requestId });
      const rows = found.requests.map((each) => [
        each.requestId,
        stateCell(each.state),
        found.edges
          .filter((edge) => edge.requestId === each.requestId)
          .map(({ parentId, on }) => `${parentId} (${on})`)
          .join(' '),
        each.lastRun && stateCell(each.lastRun.state),
        each.lastRun?.flowId,
      ]);
      return out.answer(found, () => out.table(['REQUEST', 'STATE', 'AFTER', 'LAST RUN', 'FLOW'], rows));
    }
    const found =
      rerun === undefined
        ? await api.flows.get({ flowId: shown! })
        : await api.flows.rerun({ flowId: rerun, body: { from: from!, ...(message !== undefined && { message }) } });
    await out.answer(found, () => {
      out.table(['REQUEST', 'STATE', 'ENDED', 'TASK', 'AFTER'], found.runs.map(rowOf));
      for (const { taskId, outputsProblem } of found.runs)
        if (outputsProblem !== undefined) out.text(`${taskId} tells its followers nothing: ${outputsProblem}`);
    });
  });
}

const rowOf = ({ requestId, state, endedAt, taskId, parentRuns }: FlowRun) => [
  requestId,
  stateCell(state),
  endedAt === undefined ? undefined : shownTime(endedAt),
  taskId,
  parentRuns.join(' '),
];
