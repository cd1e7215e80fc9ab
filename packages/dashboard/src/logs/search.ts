import { muster } from '../api';
import { plainText } from './ansi';
import { linesOf, type Hit } from './scan';

export interface SearchState {
  readonly hits: readonly Hit[];
  readonly isFull: boolean;
  /** Of the whole file, from 0 to 1. */
  readonly progress: number;
  readonly isDone: boolean;
}

const MAX_HITS = 10_000;
const SHOWN_CHARACTERS = 500;
const TELL_MS = 200;

/** Looks through all of a file, whatever of it is on screen. */
export async function searchFile(
  file: { taskId: string; path: string; size: number },
  expression: RegExp,
  tell: (state: SearchState) => void,
  signal: AbortSignal,
): Promise<void> {
  const hits: Hit[] = [];
  let told = performance.now();
  const say = (at: number, isDone: boolean) =>
    tell({ hits: [...hits], isFull: hits.length >= MAX_HITS, progress: file.size > 0 ? at / file.size : 1, isDone });
  for await (const { at, text } of linesOf(await download(file, signal))) {
    const plain = plainText(text);
    expression.lastIndex = 0;
    if (expression.test(plain)) hits.push({ at, text: plain.slice(0, SHOWN_CHARACTERS) });
    if (hits.length >= MAX_HITS) break;
    if (performance.now() - told < TELL_MS) continue;
    say(at, false);
    await new Promise((resolve) => setTimeout(resolve)); // the page goes on meanwhile
    told = performance.now();
    signal.throwIfAborted();
  }
  say(file.size, true);
}

async function download({ taskId, path }: { taskId: string; path: string }, signal: AbortSignal) {
  const where = await fileOf(taskId, path);
  return muster.tasks.download(where, { signal, timeoutMs: 0 });
}

/** Where a file of a task lies, as calls that answer all of it want to be told. */
export async function fileOf(taskId: string, path: string): Promise<{ slaveHostname: string; path: string }> {
  const { slaveHostname, fullPathToRoot, currentDirectory } = await muster.sandbox.browse({ taskId, path: '' });
  const inside = path.replace(new RegExp(`^${taskId.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}/`), '');
  const folder = [fullPathToRoot, currentDirectory].filter((each) => each !== '').join('/');
  return { slaveHostname, path: `${folder}/${inside}` };
}
