import { describe, expect, test } from 'vitest';
import { patiently, type Scene } from './scene.js';
import type { Visitor } from './visitor.js';

interface Disasters {
  /** The newest first. */
  stats: { timestamp: number }[];
  disasters: { type: string; active: boolean }[];
  automatedActionsDisabled: boolean;
}

/** Buttons on the pages of webhooks and disasters. */
export function describeClusterButtons(at: () => { scene: Scene; visitor: Visitor }): void {
  const rowOf = (text: string | RegExp): ReturnType<Visitor['page']['locator']> =>
    at().visitor.page.locator('tr').filter({ hasText: text }).first();

  test('webhooks of each type are added, and removed', async () => {
    const { visitor, scene } = at();
    const webhooks = (): Promise<{ uri: string; type: string }[]> => scene.api.get('webhooks');
    const before = (await webhooks()).length;
    const types = ['REQUEST', 'DEPLOY', 'TASK', 'ELEVATED ACCESS'];
    for (const type of types) {
      const uri = `http://127.0.0.1:9/${type.split(' ')[0]!.toLowerCase()}?a=b`;
      await visitor.open('/webhooks', 'New Webhook');
      await visitor.acts('NewWebhook', async () => {
        await visitor.button('New Webhook').click();
        await visitor.dialog.locator(`button[value="${type}"]`).click();
        await visitor.agree({ uri });
      });
      await visitor.sees(uri);
      expect(await webhooks()).toContainEqual(expect.objectContaining({ uri, type: type.replace(' ', '_') }));
    }
    for (const type of types) {
      const uri = `/${type.split(' ')[0]!.toLowerCase()}?a=b`;
      await visitor.presses('DeleteWebhook', rowOf(uri).locator('.glyphicon-trash'));
      await rowOf(uri).waitFor({ state: 'detached' });
    }
    expect(await webhooks()).toHaveLength(before);
  });

  describe('disasters', () => {
    const stats = (): Promise<Disasters> => at().scene.api.get('disasters/stats');
    const isActive = async (type: string): Promise<boolean> =>
      (await stats()).disasters.some((disaster) => disaster.type === type && disaster.active);

    /** Anew as long as the service has looked for disasters meanwhile: it takes back what its figures do not show. */
    const betweenTwoLooks = async (work: (looked: () => Promise<boolean>) => Promise<void>): Promise<void> => {
      const newestLook = async (): Promise<number | undefined> => (await stats()).stats[0]?.timestamp;
      for (;;) {
        const before = await newestLook();
        const looked = async (): Promise<boolean> => (await newestLook()) !== before;
        await work(looked);
        if (!(await looked())) return;
      }
    };

    test('of each type are declared, and ended', async () => {
      const { visitor } = at();
      for (const [text, type] of [
        ['Excessive task lag', 'EXCESSIVE_TASK_LAG'],
        ['Lost slaves', 'LOST_SLAVES'],
        ['Lost tasks', 'LOST_TASKS'],
        ['User initiated', 'USER_INITIATED'],
      ] as const) {
        const row = rowOf(text);
        const end = row.locator('button[title=Deactivate]');
        await betweenTwoLooks(async (looked) => {
          await visitor.open('/disasters', 'User initiated');
          await visitor.presses('NewDisaster', row.locator('button[title=Activate]'));
          const isShown = async (): Promise<boolean> => (await isActive(type)) && (await end.isVisible());
          await patiently('the disaster', async () => (await isShown()) || (await looked()));
          if (await looked()) return;
          await visitor.presses('DeleteDisaster', end);
          await patiently('its end', async () => !(await isActive(type)));
          await row.locator('button[title=Activate]').waitFor();
        });
      }
    });

    test('are acted on by the service, or not', async () => {
      const { visitor } = at();
      await visitor.open('/disasters', 'Automated Actions');
      await visitor.presses('DisableAutomatedActions', 'Disable Automated Actions');
      await visitor.sees('Enable Automated Actions');
      expect((await stats()).automatedActionsDisabled).toBe(true);
      await visitor.presses('EnableAutomatedActions', 'Enable Automated Actions');
      await visitor.sees('Disable Automated Actions');
      expect((await stats()).automatedActionsDisabled).toBe(false);
    });

    test.each(['Bounce request', 'Priority request', 'Freeze agent', 'Task shuffle'])('switch off %s', async (text) => {
      const { visitor, scene } = at();
      const disabled = (): Promise<{ type: string; message: string }[]> => scene.api.get('disasters/disabled-actions');
      for (const { type } of await disabled()) await scene.api.call('DELETE', `disasters/disabled-actions/${type}`);
      await visitor.open('/disasters', 'No Actions Are Disabled');
      await visitor.acts('NewDisabledAction', async () => {
        await visitor.button('New Disabled Action').click();
        await visitor.dialog.locator('.Select-control').click();
        await visitor.dialog.locator('.Select-option').filter({ hasText: text }).click();
        await visitor.agree({ message: 'not now' });
      });
      const [action] = await patiently('the action', async () => {
        const found = await disabled();
        return found.length === 1 && found;
      });
      expect(action!.message).toContain('not now');
      await visitor.presses('DeleteDisabledAction', rowOf('not now').locator('.glyphicon-trash'));
      await patiently('none', async () => (await disabled()).length === 0);
      await visitor.sees('No Actions Are Disabled');
    });

    test('freeze by priority: made, changed and removed', async () => {
      const { visitor, scene } = at();
      const freeze = (): Promise<{ priorityFreeze: object }> => scene.api.get('priority/freeze');
      await visitor.open('/disasters', 'New Priority Freeze');
      await visitor.presses('NewPriorityFreeze', 'New Priority Freeze', {
        minimumPriorityLevel: '0.1',
        message: 'calm',
      });
      await visitor.sees('Active Priority Freeze', 'Level: 0.1', 'Kill Tasks: False', 'calm');
      expect((await freeze()).priorityFreeze).toMatchObject({ minimumPriorityLevel: 0.1, killTasks: false });
      await visitor.presses('NewPriorityFreeze', 'Edit Priority Freeze', { minimumPriorityLevel: '0.2' });
      await visitor.sees('Level: 0.2');
      expect((await freeze()).priorityFreeze).toMatchObject({ minimumPriorityLevel: 0.2 });
      await visitor.presses('DeletePriorityFreeze', 'Remove Priority Freeze');
      await visitor.sees('No Active Priority Freeze');
      await expect(freeze()).rejects.toThrow('404');
    });
  });

  test('racks stop to count, and count again; another strategy of placement is set, and taken back', async () => {
    const { visitor } = at();
    const { page } = visitor;
    await visitor.open('/disasters', 'Rack Sensitivity');
    await visitor.acts('DisableRackSensitivity', () =>
      page.locator('button[title="Disable Rack Sensitivity"]').click(),
    );
    await visitor.sees('Disabled rack sensitivity');
    await visitor.acts('EnableRackSensitivity', () => page.locator('button[title="Enable Rack Sensitivity"]').click());
    await visitor.sees('Enabled rack sensitivity');
    for (const strategy of ['GREEDY', 'OPTIMISTIC']) {
      await page.getByPlaceholder('GREEDY/OPTIMISTIC').fill(strategy);
      await visitor.acts('OverridePlacementStrategy set', () =>
        page.locator('button[title="Override Placement Strategy"]').click(),
      );
      await visitor.sees(`Set default placement strategy to ${strategy}`);
    }
    await visitor.acts('OverridePlacementStrategy clear', () =>
      page.locator('button[title="Clear Placement Strategy Override"]').click(),
    );
    await visitor.sees('Cleared default placement strategy override');
  });

  // The last of all: for a while another scheduler could lead.
  test('the leader gives up its lead', async () => {
    const { visitor, scene } = at();
    await scene.muster.leads();
    await visitor.open('/disasters', 'Force Failover');
    await visitor.presses('ForceFailover', 'Force Failover');
    await patiently('it to lead no more', async () => {
      const state = (await (await fetch(`${scene.api.url}/readyz`)).json()) as { leads: boolean };
      return !state.leads;
    });
  });
}
