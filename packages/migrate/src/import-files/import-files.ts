import { existsSync } from 'node:fs';
import { stringify } from 'yaml';
import { CliError, exitCodes } from '../../../../src/cli/exit-codes.js';
import { documentsIn, readText, shownName } from '../../../../src/cli/files/read-text.js';
import { keepTextsAsWritten } from '../../../../src/cli/files/written-texts.js';
import { followProblems } from '../../../../src/core/flows/index.js';
import { inOrder } from '../../../../src/core/in-order.js';
import type { Request } from '../../../../src/core/model/request.js';
import { readTimetable } from '../../../../src/core/schedules/index.js';
import { chronosTexts, convertChronos, isChronosJob } from './chronos.js';
import { convertCronJob, cronJobTexts, isCronJob } from './cron-jobs.js';
import type { ConvertedJob } from './documents.js';
import { isMap } from './members.js';

/** Output of the command, and what people read beside it. */
interface Streams {
  out: (text: string) => void;
  note: (text: string) => void;
}

/** Jobs of another scheduler in a file, as the documents that `muster apply` takes. Answers the exit code. */
export function importFile(file: string, { out, note }: Streams): number {
  let jobs: ConvertedJob[];
  try {
    jobs = convertText(readText(file), note);
  } catch (cause) {
    note(`muster: ${whyNot(file, cause)}`);
    return exitCodes.usage;
  }
  for (const { request, notes } of jobs) for (const each of notes) note(`${request.id}: ${each}`);
  out(jobs.map(({ request, deploy }) => `---\n${stringify(request)}---\n${stringify({ deploy })}`).join(''));
  note(`${jobs.length} jobs; look at them, and apply them: muster apply -f <file>`);
  return 0;
}

function whyNot(file: string, cause: unknown): string {
  if (file !== '-' && !existsSync(file)) {
    return `${file}: there is no such file, and it is no address such as http://old-scheduler:7099/singularity`;
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof CliError ? message : `${shownName(file)}: ${message}`;
}

const jobTexts = { anyOf: [chronosTexts, cronJobTexts] };
/** One job, a list of them, or a List of Kubernetes. */
const fileTexts = { anyOf: [jobTexts, { items: jobTexts }, { properties: { items: { items: jobTexts } } }] };

/** Jobs of Chronos (what its API answers, or one job) and CronJobs of Kubernetes, in YAML or JSON. */
export function convertText(text: string, note: (text: string) => void = () => undefined): ConvertedJob[] {
  const refuse = (line: number, message: string): never => {
    throw new Error(`line ${line}: ${message}`);
  };
  const entries = [...documentsIn(text, refuse)].flatMap(({ document, lines }): unknown[] => {
    keepTextsAsWritten(fileTexts, document, (node, message) =>
      refuse(lines.linePos(node.range?.[0] ?? 0).line, message),
    );
    const value = document.toJS({ maxAliasCount: 100 }) as unknown;
    return isMap(value) && value['kind'] === 'List' ? [value['items']].flat() : [value].flat();
  });
  const chronos = convertChronos(entries.filter(isChronosJob));
  const jobs = [...chronos, ...entries.filter(isCronJob).map(convertCronJob)];
  const left = entries.filter((entry) => entry != null && !isChronosJob(entry) && !isCronJob(entry)).length;
  if (left > 0) note(`${left} entries are neither jobs of Chronos nor CronJobs, and are left out`);
  if (jobs.length === 0) throw new Error('there is no job of Chronos and no CronJob of Kubernetes in it');
  const ids = jobs.map(({ request }) => request.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`two jobs become the request '${twice}'`);
  return parentsFirst(jobs.map((job) => ({ ...job, notes: [...job.notes, ...refusalsOf(job.request)] })));
}

/** What the server will not take of it. */
function refusalsOf(request: Request): string[] {
  const timetable = request.requestType === 'SCHEDULED' ? readTimetable(request) : undefined;
  const errors = [...(timetable && 'errors' in timetable ? timetable.errors : []), ...followProblems(request)];
  return errors.map(({ message }) => `muster apply refuses it: ${message}`);
}

/** Parents first: a request is saved after those that it follows. */
function parentsFirst(jobs: readonly ConvertedJob[]): ConvertedJob[] {
  const byId = new Map(jobs.map((job) => [job.request.id, job]));
  const parentsOf = (id: string) => (byId.get(id)!.request.after ?? []).map(({ requestId }) => requestId);
  return inOrder([...byId.keys()], parentsOf).map((id) => byId.get(id)!);
}
