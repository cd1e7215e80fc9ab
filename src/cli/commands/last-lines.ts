import { plain } from '../../core/terminal-text.js';
import type { Session } from '../remote/session.js';

const mostLines = 5;
/** Lines in which the cause may stand: stacks and dumps of state follow it. */
const readLines = 40;
const mostCharacters = 500;
/** Longest wait for the lines: the machine of the task may be away. */
const patienceMs = 3_000;

/**
 * The last lines that a task wrote on stderr, or, where it wrote none there, on stdout, and the command that shows more; those of an init step
 * that failed come first. Nothing where they cannot be read: they are beside what is told anyway.
 */
export async function lastLines({ api }: Session, taskId: string): Promise<string[]> {
  const { tailLog } = await import('muster-client');
  for (const path of [...(await outputsOfFailedStep(api, taskId)), 'stderr', 'stdout']) {
    let text = '';
    try {
      const options = { timeoutMs: patienceMs, patienceMs };
      for await (const piece of tailLog(api, { taskId, path, lines: readLines, follow: false }, options)) text += piece;
    } catch {
      continue;
    }
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length === 0) continue;
    const shown = tellingLines(lines).map((line) => `  ${path}: ${plain(line).slice(0, mostCharacters)}`);
    return [...shown, `  full log: muster logs ${taskId}${flagsOf(path)}`];
  }
  return [];
}

const flagsOf = (path: string): string => {
  if (path === 'stdout') return '';
  return path === 'stderr' ? ' --stderr' : ` --file ${path}`;
};

async function outputsOfFailedStep(api: Session['api'], taskId: string): Promise<string[]> {
  try {
    const { programs = [] } = await api.history.task({ taskId });
    const failed = programs.find(({ role, state }) => role === 'INIT' && state === 'FAILED');
    return failed ? [`${failed.name}.stderr`, `${failed.name}.stdout`] : [];
  } catch {
    return [];
  }
}

const isCause = (line: string): boolean => /\b(\w*(Error|Exception)|fatal|panic)( \[\w+\])? ?:/i.test(line);

/** The last lines, and the last one before them that names an error, where they name none. */
export function tellingLines(lines: readonly string[]): string[] {
  const last = lines.slice(-mostLines);
  const cause = last.some(isCause) ? undefined : lines.slice(0, -mostLines).findLast(isCause);
  return cause === undefined ? last : [cause, '...', ...last];
}
