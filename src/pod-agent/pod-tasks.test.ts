import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import type { PodContext } from './pod-task.js';
import { PodTask } from './pod-task.js';
import { PodTasks } from './pod-tasks.js';
import { PodAgentSettings } from './pod-agent-settings.js';

/** Tasks that were prepared on a node of which the test plays the kubelet. Of the agent there is only what a look for pods needs. */
async function node() {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const [root, podLogs] = [join(path, 'root'), join(path, 'pod-logs')];
  for (const folder of [root, podLogs]) mkdirSync(folder);
  const settings = PodAgentSettings.parse({ root, podLogs });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const parts = { node: 'n1', settings, log, stopping: new AbortController().signal };
  const directory = { uploadRecords: join(path, 'records'), logWatcher: join(path, 'watched') };
  const logs = { ...parts, directory, now: Date.now, settings: { ...settings, tailLogLinesToSave: 1 } };
  const cgroups = { pods: () => new Map<string, string>() };
  const tasks = await PodTasks.load({ ...parts, logs, cgroups } as unknown as PodContext);
  const user = { uid: process.getuid!(), gid: process.getgid!() };
  const prepare = async (taskId: string): Promise<string> => {
    const pod = { taskId, namespace: 'jobs', podName: `pod-${taskId}`, user, cpus: 1, memoryMb: 64, diskMb: 100 };
    await tasks.prepare(pod, () => undefined);
    return taskId;
  };
  /** The kubelet begins with a pod. */
  const begin = (taskId: string): void => mkdirSync(join(podLogs, `jobs_pod-${taskId}_${randomUUID()}`));
  return { tasks, prepare, begin };
}

test('a pod that comes while an older look is under way is not taken for one that was removed', async () => {
  const { tasks, prepare, begin } = await node();
  const some = await Promise.all(Array.from({ length: 20 }, (_, n) => prepare(`some-${n}`)));
  const late = await prepare('late');
  const ended = vi.spyOn(tasks, 'end').mockResolvedValue(undefined);
  let saved = (): void => undefined;
  const isSaved = new Promise<void>((resolve) => (saved = resolve));
  const { noteUid } = PodTask.prototype;
  const noted: string[] = [];
  vi.spyOn(PodTask.prototype, 'noteUid').mockImplementation(async function (this: PodTask, uid) {
    noted.push(this.id);
    const done = noteUid.call(this, uid);
    if (this.id !== late) await isSaved;
    await done;
  });
  onTestFinished(() => void vi.restoreAllMocks());

  for (const id of some) begin(id);
  const older = tasks.findPods();
  await expect.poll(() => noted.length).toBe(20);
  begin(late);
  const newer = tasks.findPods();
  // Where looks overlap, the newer one is over now.
  await Promise.race([newer, new Promise((resolve) => setTimeout(resolve, 300))]);
  saved();
  await Promise.all([older, newer]);
  expect(tasks.find(late)!.uid).toBeDefined();
  expect(ended).not.toHaveBeenCalled();
});
