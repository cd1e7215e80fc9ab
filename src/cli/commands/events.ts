import { setTimeout as delay } from 'node:timers/promises';
import { CliError } from '../exit-codes.js';
import { plain } from '../output/plain.js';
import { nodeFetch } from '../remote/node-fetch.js';
import { proofOf, remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { shownState, shownTime } from '../words.js';

interface Flags {
  follow?: boolean;
  type?: string[];
  request?: string[];
  after?: string;
}

/** A record of the stream, as docs/events.md describes it. */
interface Told {
  id: string;
  event: string;
  data: string;
}

/** Without --follow it is over when so long nothing more of what is kept has come. */
const quietMillis = 1_000;
const firstPauseMillis = 500;
const longestPauseMillis = 10_000;

/** What has happened, as far as it is kept; or what happens, without a gap, whatever becomes of the connection. */
export function events(...[command, run]: Parameters<Define>): void {
  command
    .option('-f, --follow', 'what happens from now on, until Ctrl-C')
    .option('--type <type...>', 'only these: request, deploy, task, crashloop, slave, rack, disaster')
    .option('--request <id...>', 'only of these requests')
    .option('--after <number>', 'what came after the event of this number');
  examples(command, 'muster events', 'muster events -f --type deploy task --request web', 'muster events -f --json');
  remote<Flags, []>(command, run, async (session, { follow = false, type = [], request = [], after }) => {
    const query = new URLSearchParams([
      ...type.map((each): [string, string] => ['type', each.toUpperCase()]),
      ...request.map((each): [string, string] => ['requestId', each]),
    ]);
    let last = after ?? (follow ? undefined : '0');
    for (let pause = firstPauseMillis; ; pause = Math.min(pause * 2, longestPauseMillis)) {
      try {
        for await (const told of streamOf(session, query, last, follow)) {
          pause = firstPauseMillis;
          last = told.id;
          tell(session, told);
        }
      } catch (cause) {
        // It was there before: it comes again, and goes on where this stream was.
        const isAway = cause instanceof TypeError || (cause instanceof CliError && cause.outcome === 'unreachable');
        if (!follow || last === undefined || !isAway) throw cause;
        session.out.note(`${session.address.url} does not answer; asked again in ${pause / 1_000} s`);
      }
      if (!follow) return;
      await delay(pause);
    }
  });
}

async function* streamOf(
  session: Session,
  query: URLSearchParams,
  last: string | undefined,
  follow: boolean,
): AsyncGenerator<Told> {
  const { address, api } = session;
  // Refusals are told as those of every other call: who may not ask who they are may not listen either.
  await api.auth.whoCalls();
  const silence = new AbortController();
  const response = await nodeFetch(`${address.url}/api/events?${query}`, {
    method: 'GET',
    headers: Object.entries({
      accept: 'text/event-stream',
      ...proofOf(address),
      ...(last !== undefined && { 'last-event-id': last }),
    }),
    signal: silence.signal,
  });
  if (response.status !== 200) {
    const said = JSON.parse(Buffer.from(await response.arrayBuffer()).toString() || '{}') as { message?: string };
    const outcome =
      response.status === 503 || response.status === 429
        ? 'unreachable'
        : response.status === 400
          ? 'refused'
          : 'failed';
    throw new CliError(outcome, said.message ?? `Events were answered ${response.status}`);
  }
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    if (!follow) timer = setTimeout(() => silence.abort(), quietMillis);
  };
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      wait();
      const { done, value } = await reader.read();
      if (done) return;
      const records = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = records.pop()!;
      for (const record of records) yield recordOf(record);
    }
  } catch (cause) {
    if (!silence.signal.aborted) throw cause;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

function recordOf(text: string): Told {
  const fields = Object.fromEntries(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  ) as { id?: string; event?: string; data?: string };
  return { id: fields.id ?? '', event: fields.event ?? '', data: fields.data ?? '' };
}

function tell({ out }: Session, { id, event, data }: Told): void {
  // A sign of life: only its id is news.
  if (data === '') return;
  const value = JSON.parse(data) as Record<string, string | number | boolean | undefined>;
  if (event === 'reset' || event === 'end') return out.note(`${event}: ${value['message'] ?? value['reason'] ?? ''}`);
  const { at, taskId, deployId, requestId, machineId, disaster } = value;
  const what = taskId ?? (deployId === undefined ? (requestId ?? machineId ?? disaster) : `${requestId} ${deployId}`);
  const now =
    value['taskState'] ??
    value['deployState'] ??
    value['eventType'] ??
    value['state'] ??
    value['crashLoopType'] ??
    value['active'];
  const cells = [shownTime(Number(at)), event, what, shownState(String(now ?? '')), value['user'], value['message']];
  out.each({ id: Number(id), ...value }, () =>
    cells
      .map((cell) => plain(String(cell ?? '')))
      .join('\t')
      .trimEnd(),
  );
}
