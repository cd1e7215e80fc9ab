import type { CDPSession, Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import type { Dashboard } from './scene.js';

const requests = 10_000;
const events = 100_000;
const frames = 120;
const MB = 1024 * 1024;

const idOf = (index: number): string => `service-${String(index).padStart(5, '0')}`;
const row = (id: string) => ({ state: 'ACTIVE', request: { id, requestType: 'SERVICE', instances: 1 } });

/** One in ten has its row read again; the others are of tasks, most of which no row on screen tells of. */
const event = (number: number): string => {
  const requestId = idOf(number % requests);
  const isChange = number % 10 === 0;
  const said = isChange
    ? { type: 'REQUEST', eventType: 'UPDATED' }
    : { type: 'TASK', deployId: 'v1', taskId: `${requestId}-v1-1-1-h-r`, taskState: 'TASK_RUNNING' };
  const data = JSON.stringify({ ...said, at: number, requestId });
  return `id: ${number}\nevent: ${said.type}\ndata: ${data}\n\n`;
};

/** What the main thread has done, and what is kept, as the browser itself counts it. */
class Meter {
  private constructor(private readonly cdp: CDPSession) {}

  /** Processor time of the main thread: that of other processes is not in it. */
  static async of(page: Page): Promise<Meter> {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new Meter(cdp);
  }

  async read(): Promise<{ cpuMillis: number; layouts: number; styles: number; nodes: number }> {
    const { metrics } = await this.cdp.send('Performance.getMetrics');
    const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
    return {
      cpuMillis: of('TaskDuration') * 1_000,
      layouts: of('LayoutCount'),
      styles: of('RecalcStyleCount'),
      nodes: of('Nodes'),
    };
  }

  /** Bytes that are left once all is collected that nothing refers to. */
  async heap(): Promise<number> {
    for (let round = 0; round < 2; round++) await this.cdp.send('HeapProfiler.collectGarbage');
    return (await this.cdp.send('Runtime.getHeapUsage')).usedSize;
  }
}

/** Counts the rows of the list that are made from now on, and tells of them. */
const countRows = `(() => {
  const counted = { made: 0 };
  globalThis.countedRows = counted;
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes) if (node.role === 'row' || node.getAttribute?.('role') === 'row') counted.made++;
  }).observe(document.querySelector('.grid-body'), { childList: true });
})()`;
const rowsMade = (page: Page): Promise<number> =>
  page.evaluate<number>('(() => { const { made } = countedRows; countedRows.made = 0; return made; })()');

/**
 * What a list of 10,000 costs. Held are amounts of work, and what stays in memory; the processor time of each is told beside its budget,
 * since it is that of the machine, too.
 */
export function budgetStories({ open, go }: Dashboard): void {
  test('budgets: a frame of scrolling and an event do little, and 100,000 events leave nothing behind', async () => {
    const page = await open('/ui/status');
    let lists = 0;
    let batches = 0;
    /** The newest connection: one that the page before had begun is given up. */
    let stream: Route | undefined;
    let lastSeen = '';
    await page.route(/\/api\/requests$/, (route) => {
      lists++;
      return route.fulfill({ json: Array.from({ length: requests }, (_each, index) => row(idOf(index))) });
    });
    await page.route(/\/api\/requests\/batch/, (route) => {
      batches++;
      const asked = new URL(route.request().url()).searchParams.getAll('id');
      return route.fulfill({ json: { requests: asked.map(row), notFound: [] } });
    });
    // The page has seen all that came, and waits for what is to come.
    await page.route(/\/api\/events/, (route) => {
      lastSeen = new URL(route.request().url()).searchParams.get('lastEventId') ?? '';
      stream = route;
    });
    const meter = await Meter.of(page);
    await go(page, '/ui/requests');
    await page.getByRole('link', { name: idOf(0) }).waitFor();
    const { cpuMillis } = await meter.read();
    const heapAtFirst = await meter.heap();
    // Nodes of the page before are no longer counted.
    const atFirst = { ...(await meter.read()), cpuMillis };

    await page.evaluate(countRows);
    const before = await meter.read();
    await page.evaluate(
      `new Promise((resolve) => {
        let left = ${frames};
        const frame = () => { scrollBy(0, 400); if (left-- > 0) requestAnimationFrame(frame); else resolve(); };
        requestAnimationFrame(frame);
      })`,
    );
    const scrolled = await meter.read();
    const rowsPerFrame = (await rowsMade(page)) / frames;

    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('link', { name: idOf(0) }).waitFor();
    const heapBefore = await meter.heap();
    const callsBefore = lists + batches;
    await rowsMade(page);
    const quiet = await meter.read();
    const body = Array.from({ length: events }, (_each, index) => event(index + 1)).join('');
    await (await waitFor('its connection', () => stream)).fulfill({ contentType: 'text/event-stream', body });
    await waitFor('the last event', () => lastSeen === String(events), { timeoutMillis: 60_000 });
    let calls = -1;
    const isSettled = (): boolean => {
      const before = calls;
      calls = lists + batches;
      return calls === before;
    };
    await waitFor('what they have changed to be read', isSettled, { everyMillis: 1_000 });
    const told = await meter.read();
    const heapAfter = await meter.heap();
    const nodes = (await meter.read()).nodes - quiet.nodes;
    const reads = calls - callsBefore;
    const rowsByEvents = await rowsMade(page);

    console.log(
      [
        `first rows of ${requests} requests: ${atFirst.cpuMillis.toFixed(0)} ms of CPU (budget 250), ${atFirst.nodes} nodes, heap ${mb(heapAtFirst)} (budget 12)`,
        `a frame of scrolling: ${((scrolled.cpuMillis - before.cpuMillis) / frames).toFixed(1)} ms of CPU (budget 8), ${rowsPerFrame.toFixed(1)} rows made, ${((scrolled.layouts - before.layouts) / frames).toFixed(1)} layouts`,
        `an event: ${((told.cpuMillis - quiet.cpuMillis) / events).toFixed(3)} ms of CPU (budget 2); of all, ${reads} reads of rows`,
        `${events} events: the heap is ${mb(heapAfter - heapBefore)} larger (budget 5), the page has ${nodes} nodes more`,
      ].join('\n'),
    );
    expect(atFirst.nodes).toBeLessThan(4_000);
    expect(heapAtFirst).toBeLessThan(12 * MB);
    // 400 pixels are ten rows: those that were there stay as they are.
    expect(rowsPerFrame).toBeLessThan(11);
    expect((scrolled.layouts - before.layouts) / frames).toBeLessThan(4);
    expect(reads).toBeLessThan(events / 100);
    expect(rowsByEvents).toBe(0);
    expect(nodes).toBeLessThan(500);
    expect(heapAfter - heapBefore).toBeLessThan(5 * MB);
    await page.close();
  }, 120_000);
}

const mb = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`;
