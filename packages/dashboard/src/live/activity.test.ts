import { expect, test } from 'vitest';
import type { Event } from 'muster-client';
import { textOf } from './event-text';
import { together } from './told';

test.each<[Partial<Event>, string, string]>([
  [{ type: 'REQUEST', eventType: 'PAUSED', message: 'lunch' }, 'paused: lunch', 'off'],
  [{ type: 'DEPLOY', deployId: 'v1', eventType: 'STARTING' }, 'deploy v1 begins', 'busy'],
  [{ type: 'DEPLOY', deployId: 'v1', eventType: 'STEP' }, 'deploy v1 goes on', 'busy'],
  [{ type: 'DEPLOY', deployId: 'v1', eventType: 'FINISHED', deployState: 'FAILED' }, 'deploy v1 failed', 'bad'],
  [{ type: 'PENDING', eventType: 'QUEUED', tasks: 1 }, '1 task queued', 'off'],
  [{ type: 'PENDING', eventType: 'WAITING', tasks: 3, message: 'No slave' }, '3 tasks not placed: No slave', 'warn'],
  [{ type: 'TASK', taskState: 'TASK_RUNNING' }, 'running', 'good'],
  [{ type: 'TASK', taskState: 'TASK_FAILED', message: 'Exit code 3' }, 'failed: Exit code 3', 'bad'],
  [{ type: 'HEALTH' }, 'healthy', 'good'],
  [{ type: 'HEALTH', eventType: 'UNHEALTHY', message: 'status 500' }, 'unhealthy: status 500', 'bad'],
  [{ type: 'HEALTH', eventType: 'RECOVERED', message: 'status 200' }, 'healthy again', 'good'],
  [{ type: 'HEALTH', eventType: 'LEAVING', message: 'BOUNCING' }, 'gets no more calls: BOUNCING', 'off'],
  [{ type: 'CRASHLOOP', crashLoopType: 'OOM' }, 'crash loop: oom', 'bad'],
  [{ type: 'CRASHLOOP', crashLoopType: 'OOM', end: 5 }, 'crash loop is over: oom', 'good'],
  [{ type: 'SLAVE', state: 'FROZEN', message: 'disk' }, 'machine frozen: disk', 'off'],
  [{ type: 'RACK' }, 'rack removed', 'off'],
  [{ type: 'DISASTER', disaster: 'EXCESSIVE_TASK_LAG', active: true }, 'disaster: excessive task lag', 'bad'],
  [{ type: 'NEWER_KIND' as Event['type'] }, 'newer kind', 'unknown'],
])('%j is told as "%s"', (event, text, tone) => expect(textOf(event as Event)).toEqual({ text, tone }));

test('what is kept and what came meanwhile are one list, the newest first, each once', () => {
  const told = (id: string) => ({ id, event: { type: 'HEALTH', at: Number(id) } as Event });
  const ids = together([told('11'), told('9')], [told('7'), told('9')]).map(({ id }) => id);
  expect(ids).toEqual(['11', '9', '7']);
});
