import { describe, expect, test } from 'vitest';
import type { Rack, Slave } from '../../../src/core/model/machine.js';
import { patiently, type Scene } from './scene.js';
import type { Visitor } from './visitor.js';

/** Buttons on the pages of machines and racks. */
export function describeMachineButtons(at: () => { scene: Scene; visitor: Visitor }): void {
  const icon = (id: string, glyph: string): ReturnType<Visitor['page']['locator']> =>
    at().visitor.page.locator('tr').filter({ hasText: id }).locator(`.glyphicon-${glyph}`);
  const stateOf = async (kind: 'racks' | 'slaves', id: string): Promise<string | undefined> =>
    (await at().scene.api.get<(Slave | Rack)[]>(kind)).find((machine) => machine.id === id)?.currentState.state;
  const becomes = (kind: 'racks' | 'slaves', id: string, state: string): Promise<unknown> =>
    patiently(`${id} to be ${state}`, async () => (await stateOf(kind, id)) === state);

  describe('machines', () => {
    test('are frozen for a while, for good, and activated', async () => {
      const { visitor, scene } = at();
      const expiring = (): Promise<unknown[]> => scene.api.get('slaves/expiring');
      await visitor.open('/agents', 'spare');
      await visitor.acts('FreezeAgent', async () => {
        await icon('spare', 'stop').click();
        await visitor.dialog.locator('[name=durationMillis]').fill('1 hour');
        await visitor.dialog.locator('button[value=ACTIVE]').click();
        await visitor.agree({ message: 'a new disk' });
      });
      await visitor.sees('a new disk', 'Transitions to ACTIVE');
      expect(await stateOf('slaves', 'spare')).toBe('FROZEN');
      expect(await expiring()).toMatchObject([{ machineId: 'spare', revertToState: 'ACTIVE', user: 'visitor' }]);
      await visitor.presses('RemoveExpiringAgentState', icon('spare', 'remove-circle').nth(1));
      await patiently('it to stay so', async () => (await expiring()).length === 0);
      await visitor.presses('ReactivateAgent', icon('spare', 'new-window'));
      await becomes('slaves', 'spare', 'ACTIVE');
    });

    test('are decommissioned, and forgotten', async () => {
      const { visitor } = at();
      await visitor.open('/agents', 'worn');
      await visitor.presses('DecommissionAgent', icon('worn', 'trash'), { message: 'old' });
      await becomes('slaves', 'worn', 'DECOMMISSIONED');
      await visitor.open('/agents', 'worn', 'old');
      await visitor.presses('RemoveAgent', icon('worn', 'remove'));
      // Its agent still presents it, so it begins anew.
      await becomes('slaves', 'worn', 'ACTIVE');
    });

    test('have hosts that are inactive, and active again', async () => {
      const { visitor, scene } = at();
      const inactive = (): Promise<string[]> => scene.api.get('inactive');
      await visitor.open('/agents', 'idle');
      await visitor.presses('DeactivateHost', icon('idle', 'remove-circle'));
      await visitor.sees('These hosts are marked as inactive', 'host8');
      expect(await inactive()).toEqual(['host8']);
      await visitor.presses('ReactivateHost', icon('idle', 'ok-circle'));
      await patiently('it to be active', async () => (await inactive()).length === 0);
      await scene.api.post('inactive?host=host9');
      await visitor.open('/agents', 'host9');
      const clear = visitor.page.locator('h3', { hasText: 'Inactive Hosts' }).locator('.glyphicon-remove-circle');
      await visitor.presses('ClearInactiveHosts', clear);
      await patiently('none to be left', async () => (await inactive()).length === 0);
    });

    test('that are gone are forgotten', async () => {
      const { visitor, scene } = at();
      await scene.loses('lost');
      await becomes('slaves', 'lost', 'DEAD');
      await visitor.open('/agents', 'Dead', 'lost');
      const clear = visitor.page.locator('h2', { hasText: 'Inactive' }).locator('.glyphicon-remove-circle');
      await visitor.presses('ClearInactiveAgents', clear);
      await patiently('it to be forgotten', async () => (await stateOf('slaves', 'lost')) === undefined);
    });

    test('are shown with the columns that are chosen', async () => {
      const { visitor } = at();
      await visitor.open('/agents', 'spare');
      await visitor.button('Customize').click();
      await visitor.agree({ room: true });
      await visitor.sees('room');
      await visitor.page
        .locator('td')
        .filter({ hasText: /^small$/ })
        .nth(1)
        .waitFor();
    });
  });

  test('racks are frozen, activated, decommissioned and forgotten', async () => {
    const { visitor } = at();
    await visitor.open('/racks', 'rack4');
    await visitor.presses('FreezeRack', icon('rack4', 'pause'), { message: 'a new switch' });
    await becomes('racks', 'rack4', 'FROZEN');
    await visitor.sees('a new switch');
    await visitor.presses('ReactivateRack', icon('rack4', 'new-window'));
    await becomes('racks', 'rack4', 'ACTIVE');
    await visitor.open('/racks', 'rack4');
    await visitor.presses('DecommissionRack', icon('rack4', 'trash'));
    await patiently('it to be left', async () => (await stateOf('racks', 'rack4'))?.includes('DECOMMISSION'));
    await visitor.open('/racks', 'rack4');
    await visitor.presses('RemoveRack', icon('rack4', 'remove'));
    await becomes('racks', 'rack4', 'ACTIVE');
    expect(await stateOf('racks', 'rack1')).toBe('ACTIVE');
  });
}
