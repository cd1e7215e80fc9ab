import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scene } from './scene.js';
import type { Visitor } from './visitor.js';

/** The UI at an address of its own: its page calls another origin, which the settings for CORS allow it to. */
export function describeAnotherOrigin(at: () => { scene: Scene; arrive: () => Promise<Visitor> }): void {
  describe('on another origin, without a proxy', () => {
    let visitor: Visitor;
    beforeAll(async () => {
      visitor = await at().arrive();
    });
    afterAll(() => visitor?.page.close());

    test('shows what there is', async () => {
      const { api } = at().scene;
      const [task] = await at().scene.site('abroad');
      const { id } = task!.taskId;
      await visitor.open('/requests/all/all/all/abroad', 'abroad');
      await visitor.open('/request/abroad', 'Active deploy v1', 'Running instances', '2 - localhost');
      await visitor.open(`/task/${id}`, 'Task running', 'folder', 'stdout');
      for (const tail of ['tail', 'old-tail']) await visitor.open(`/task/${id}/${tail}/stdout`, 'the site is open');
      await visitor.open('/agents', 'agent1');
      await visitor.open('/api-docs', 'Requests', 'Webhooks');
      expect(await visitor.problems()).toEqual([]);
      expect(new URL(visitor.page.url()).origin).not.toBe(new URL(api.url).origin);
    });

    test('changes what there is, by calls of every method', async () => {
      const { scene } = at();
      await visitor.open('/request/abroad', 'Active deploy v1', 'Scale');
      await visitor.presses('ScaleRequest', /^Scale$/, { instances: '1' });
      await scene.runs('abroad', 1);
      await visitor.open('/request/abroad', 'Active deploy v1', 'Remove');
      await visitor.presses('PauseRequest', /^Pause$/);
      await scene.until('abroad', 'PAUSED');
      await visitor.presses('UnpauseRequest', /^Unpause$/);
      await scene.until('abroad', 'ACTIVE');
      await visitor.acts('AddStarredRequests', () => visitor.page.locator('a.star').click());
      await visitor.page.locator('a.star[data-starred=true]').waitFor();
      await visitor.acts('DeleteStarredRequests', () => visitor.page.locator('a.star').click());
      await visitor.presses('RemoveRequest', /^Remove$/);
      await scene.gone('abroad');
      await visitor.open('/status', 'Leader');
      expect(await visitor.problems()).toEqual([]);
    });
  });
}
