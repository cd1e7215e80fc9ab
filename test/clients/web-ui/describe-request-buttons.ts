import { describe, expect, test } from 'vitest';
import type { RequestParent } from '../../../src/core/model/request.js';
import { patiently, type Scene } from './scene.js';
import type { Visitor } from './visitor.js';

/** Buttons on the pages of requests, deploys and tasks. */
export function describeRequestButtons(at: () => { scene: Scene; visitor: Visitor }): void {
  const request = (id: string): Promise<RequestParent> => at().scene.api.request(id);
  const becomes = (id: string, what: string, holds: (parent: RequestParent) => unknown): Promise<unknown> =>
    patiently(`${id} ${what}`, async () => holds(await request(id)));
  const expires = 'Action Expiration';

  describe('requests', () => {
    test('are made and changed in a form, and deployed in another', async () => {
      const { visitor, scene } = at();
      const { page } = visitor;
      await visitor.open('/requests', 'New Request');
      await visitor.button('New Request').click();
      await page.locator('#id').fill('formed');
      await page.locator('button[value=SERVICE]').click();
      await page.locator('#instances').fill('2');
      await visitor.acts('SaveRequest', () => page.locator('button[type=submit]').click());
      await visitor.sees('No active deploy');
      expect((await request('formed')).request).toMatchObject({ id: 'formed', requestType: 'SERVICE', instances: 2 });

      await visitor.button('Edit').click();
      await page.locator('#instances').fill('1');
      await page.getByLabel('Rack sensitive').check();
      await visitor.acts('SaveRequest', () => page.locator('button[type=submit]').click());
      await becomes('formed', 'to have changed', ({ request }) => request.instances === 1 && request.rackSensitive);

      await visitor.open('/request/formed', 'No active deploy');
      await visitor.button(/^Deploy$/).click();
      await page.locator('#id').fill('f1');
      await page.locator('#command-to-execute').fill('echo formed; exec sleep 1000');
      await page.locator('#cpus').first().fill('0.1');
      await page.locator('#memory-mb').fill('32');
      await page.locator('#disk-mb').fill('1');
      // The form sends a health check with every deploy of a service; without a path that was refused before, too.
      await page.locator('#cpus').last().fill('1');
      await page.locator('#healthcheck-uri').fill('/');
      await page.getByText('Skip healthcheck on deploy').click();
      await visitor.acts('SaveDeploy', () => page.locator('button[type=submit]').click());
      await page.waitForURL('**/request/formed/deploy/f1');
      await scene.deployEnds('formed', 'f1', 'SUCCEEDED');
      expect((await scene.api.deployHistory('formed', 'f1')).deploy).toMatchObject({
        resources: { cpus: 0.1, memoryMb: 32, diskMb: 1, numPorts: 1 },
        healthcheck: { uri: '/', protocol: 'HTTP', method: 'GET' },
      });
    });

    test.each(['ON_DEMAND', 'RUN_ONCE', 'SCHEDULED', 'WORKER'])('of type %s are deployed in the form', async (type) => {
      const { visitor, scene } = at();
      const { page } = visitor;
      const id = `formed-${type.toLowerCase().replace('_', '-')}`;
      await visitor.open('/requests/new', 'New Request');
      await page.locator('#id').fill(id);
      await page.locator(`button[value=${type}]`).click();
      if (type === 'SCHEDULED') await page.locator('#schedule').fill('0 4 * * *');
      await visitor.acts('SaveRequest', () => page.locator('button[type=submit]').click());
      await visitor.sees('No active deploy');
      await visitor.open(`/request/${id}/deploy`, `New deploy for ${id}`);
      await page.locator('#id').fill('f1');
      await page.locator('#command-to-execute').fill(type === 'WORKER' ? 'sleep 1000' : 'echo formed');
      await page.locator('#disk-mb').fill('1');
      await visitor.acts('SaveDeploy', () => page.locator('button[type=submit]').click());
      await page.waitForURL(`**/request/${id}/deploy/f1`);
      await scene.deployEnds(id, 'f1', 'SUCCEEDED');
    });

    test('are starred, and unstarred', async () => {
      const { visitor, scene } = at();
      await scene.request({ id: 'shining' });
      await visitor.open('/request/shining', 'No active deploy');
      const star = visitor.page.locator('a.star');
      const starred = async (): Promise<string[]> => {
        const { settings } = await scene.api.get<{ settings: { starredRequestIds: string[] } }>(
          'auth/user?user=visitor',
        );
        return settings.starredRequestIds;
      };
      await visitor.acts('AddStarredRequests', () => star.click());
      await visitor.page.locator('a.star[data-starred=true]').waitFor();
      expect(await starred()).toEqual(['shining']);
      await visitor.acts('DeleteStarredRequests', () => star.click());
      await visitor.page.locator('a.star[data-starred=false]').waitFor();
      expect(await starred()).toEqual([]);
    });

    test('are paused, for a while too, and unpaused', async () => {
      const { visitor, scene } = at();
      await scene.running({ id: 'stopping' });
      await visitor.open('/request/stopping', 'Pause');
      await visitor.presses('PauseRequest', /^Pause$/, { durationMillis: '1 hour', message: 'for lunch' });
      await visitor.sees(expires, 'for lunch');
      expect(await request('stopping')).toMatchObject({
        state: 'PAUSED',
        expiringPause: {
          user: 'visitor',
          expiringAPIRequestObject: { durationMillis: 3_600_000, message: 'for lunch' },
        },
      });
      await visitor.acts('PersistRequestPause', () => visitor.button('Make Permanent').click());
      await becomes('stopping', 'to stay paused', ({ expiringPause }) => !expiringPause);
      await visitor.presses('UnpauseRequest', /^Unpause$/, { message: 'back' });
      await becomes('stopping', 'to be active', ({ state }) => state === 'ACTIVE');
      await scene.runs('stopping', 1);
    });

    test('are scaled, for a while too, and back', async () => {
      const { visitor, scene } = at();
      await scene.running({ id: 'growing', instances: 1 });
      await visitor.open('/request/growing', 'Scale');
      await visitor.presses('ScaleRequest', /^Scale$/, { instances: '3', durationMillis: '2 hours', message: 'more' });
      await visitor.sees('Scale (to 3 instances)', 'Revert to 1 instance');
      await scene.runs('growing', 3);
      await visitor.acts('PersistRequestScale', () => visitor.button('Make Permanent').click());
      await becomes('growing', 'to stay so', ({ expiringScale, request }) => !expiringScale && request.instances === 3);
      await visitor.open('/request/growing', '3 - ');
      await visitor.presses('ScaleRequest', /^Scale$/, { instances: '2', bounce: true });
      await becomes('growing', 'to be two', ({ request }) => request.instances === 2);
      await visitor.open('/requests/all/all/all/growing', 'growing');
      await visitor.presses('ScaleRequest', visitor.page.locator('a[title=Scale]'), { instances: '1' });
      await becomes('growing', 'to be one', ({ request }) => request.instances === 1);
    });

    test('have a priority, for a while too', async () => {
      const { visitor, scene } = at();
      await scene.request({ id: 'hurried', taskPriorityLevel: 0.25 });
      await visitor.open('/request/hurried', 'Priority');
      await visitor.presses('PriorityRequest', 'Priority', { priority: '0.75', durationMillis: '1 hour' });
      await visitor.sees('Priority override (to 0.75)', 'Revert to 0.25');
      expect((await request('hurried')).request.taskPriorityLevel).toBe(0.75);
      await visitor.acts('PersistRequestPriority', () => visitor.button('Make Permanent').click());
      const parent = await request('hurried');
      expect([parent.expiringPriority, parent.request.taskPriorityLevel]).toEqual([undefined, 0.75]);
    });

    test('are bounced, and a bounce is cancelled', async () => {
      const { visitor, scene } = at();
      // No room for a second one beside the first: the bounce goes on until it is cancelled.
      const placed = { requiredSlaveAttributes: { room: 'small' } };
      await scene.running({ id: 'bouncing', ...placed }, { resources: { cpus: 0.6, memoryMb: 32 } });
      await visitor.open('/request/bouncing', 'Bounce');
      await visitor.presses('BounceRequest', /^Bounce$/, { message: 'once more' });
      await visitor.sees('Request is bouncing', 'Cancel bounce');
      expect((await request('bouncing')).expiringBounce).toMatchObject({ user: 'visitor' });
      await visitor.acts('CancelRequestBounce', () => visitor.button('Cancel bounce').click());
      await becomes('bouncing', 'to have no bounce', ({ expiringBounce }) => !expiringBounce);
    });

    test('go without health checks, for a while too, and with them again', async () => {
      const { visitor, scene } = at();
      await scene.site('unchecked');
      await visitor.open('/request/unchecked', 'Disable Healthchecks');
      await visitor.presses('SkipRequestHealthchecks', 'Disable Healthchecks', { durationMillis: '2 hours' });
      await visitor.sees(expires, 'Enable Healthchecks');
      await becomes('unchecked', 'to skip them', ({ request }) => request.skipHealthchecks);
      await visitor.acts('PersistSkipRequestHealthchecks', () => visitor.button('Make Permanent').click());
      await becomes('unchecked', 'to stay so', ({ expiringSkipHealthchecks }) => !expiringSkipHealthchecks);
      await visitor.open('/request/unchecked', 'Enable Healthchecks');
      await visitor.presses('SkipRequestHealthchecks', 'Enable Healthchecks');
      await becomes('unchecked', 'to be checked', ({ request }) => !request.skipHealthchecks);
    });

    test('are left out of shuffling, and shuffled again', async () => {
      const { visitor, scene } = at();
      await scene.request({ id: 'shuffled' });
      const optedOut = (): Promise<string[]> => scene.api.get('shuffle/blacklist');
      await visitor.open('/request/shuffled', 'Disable Shuffling');
      await visitor.presses('EnableRequestShuffleOptOut', 'Disable Shuffling');
      await visitor.sees('Enable Shuffling');
      expect(await optedOut()).toEqual(['shuffled']);
      await visitor.presses('DisableRequestShuffleOptOut', 'Enable Shuffling');
      await visitor.sees('Disable Shuffling');
      expect(await optedOut()).toEqual([]);
    });

    test('leave their cooldown', async () => {
      const { visitor, scene } = at();
      await scene.coolingDown('warming');
      await visitor.open('/request/warming', 'Exit Cooldown');
      scene.mend('warming');
      await visitor.presses('ExitRequestCooldown', 'Exit Cooldown', { skipHealthchecks: true, message: 'mended' });
      await becomes('warming', 'to be active', ({ state }) => state === 'ACTIVE');
      await scene.runs('warming', 1);
    });

    test('are removed', async () => {
      const { visitor, scene } = at();
      await scene.running({ id: 'leaving' });
      await visitor.open('/request/leaving', 'Remove');
      await visitor.presses('RemoveRequest', /^Remove$/, { message: 'not needed' });
      await scene.gone('leaving');
      const [event] = await scene.api.get<{ eventType: string; user: string; message: string }[]>(
        'history/request/leaving/requests?count=5',
      );
      expect(event).toMatchObject({ message: 'not needed', user: 'visitor' });
      // The page goes on asking for what it shows, and is told that it has gone.
      await visitor.sees('This request has been deleted');
      await visitor.open('/status', 'Leader');
    });

    test('of a group are acted on at once', async () => {
      const { visitor, scene } = at();
      await Promise.all(['east', 'west'].map((id) => scene.running({ id })));
      await scene.api.post('groups', { id: 'sides', requestIds: ['east', 'west'], metadata: { team: 'compass' } });
      await visitor.open('/group/sides', 'sides', 'east', 'Active deploy v1');
      const choose = async (entry: string | RegExp): Promise<void> => {
        await visitor.page.locator('#action-dropdown').click();
        await visitor.page.locator('.dropdown-menu a').filter({ hasText: entry }).filter({ visible: true }).click();
      };
      const both = (what: string, holds: (parent: RequestParent) => unknown) =>
        Promise.all(['east', 'west'].map((id) => becomes(id, what, holds)));
      const acts = (action: string, entry: string | RegExp): Promise<void> =>
        visitor.acts(action, async () => {
          await choose(entry);
          await visitor.agree();
        });
      await acts('PauseRequest', /^Pause$/);
      await both('to be paused', ({ state }) => state === 'PAUSED');
      await visitor.open('/group/sides', 'sides', 'Paused');
      await acts('UnpauseRequest', /^Unpause$/);
      await both('to be active', ({ state }) => state === 'ACTIVE');
      await visitor.open('/group/sides', 'sides', 'Active deploy v1');
      await choose('View Metadata');
      await visitor.sees('compass');
    });
  });
}
