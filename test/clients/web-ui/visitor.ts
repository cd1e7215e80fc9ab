import type { BrowserContext, Locator, Page, Response } from 'playwright-core';
import { waitFor } from '../../support/wait-for.js';
import type { Action } from './parts.js';
import { patience, patiently } from './scene.js';

/** Answers that the UI takes for "there is none": it asks for what need not be there (`catchStatusCodes` in its program). */
const noneThere: [path: RegExp, statuses: number[]][] = [
  [/^\/usage\/requests\/request\/[^/]+\?/, [404]],
  [/^\/logs\/task\//, [404]],
  [/^\/priority\/freeze/, [404]],
  [/^\/tasks\/task\/[^/]+\/statistics/, [404]],
  [/^\/sandbox\/[^/]+\/browse/, [400, 404]],
  [/^\/requests\/request\/[^/?]+(\?|$)/, [404]],
  // Asked for once a second until the run has a task.
  [/^\/(history|requests)\/request\/[^/]+\/run\//, [404]],
];
const isExpected = (path: string, status: number): boolean =>
  noneThere.some(([pattern, statuses]) => pattern.test(path) && statuses.includes(status));

/** Names that browsers resolve: a font that the UI asks for elsewhere is missed at once, and the UI does without. */
export const onlyThisMachine = '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost';

/** The addresses of the page, below which its own stand at /ui, and of the API that it calls. */
export interface Places {
  front: string;
  api: string;
}

/** Person at the web UI: opens its pages, presses its buttons, and keeps what went wrong meanwhile. */
export class Visitor {
  private complaints: string[] = [];
  private inFlight = 0;
  /** Bodies of failed calls that are being read. */
  private saying: Promise<void>[] = [];
  /** Answer to the last call of each action. */
  readonly done = new Map<string, string>();

  private constructor(
    readonly page: Page,
    private readonly places: Places,
    private readonly actions: Action[],
  ) {}

  static async arrive(context: BrowserContext, places: Places, actions: Action[]): Promise<Visitor> {
    const visitor = new Visitor(await context.newPage(), places, actions);
    const { page } = visitor;
    page.setDefaultTimeout(patience.timeoutMillis);
    const isCall = (url: string): boolean => visitor.pathOf(url) !== undefined;
    page.on('pageerror', (error) => visitor.complaints.push(`The program of the page failed: ${error.message}`));
    page.on('request', (request) => isCall(request.url()) && visitor.inFlight++);
    page.on('requestfinished', (request) => isCall(request.url()) && visitor.inFlight--);
    page.on('requestfailed', (request) => {
      if (isCall(request.url())) visitor.inFlight--;
      const errorText = request.failure()?.errorText;
      // Aborted is what a page had asked for that was left meanwhile.
      const isOwn = isCall(request.url()) || request.url().startsWith(places.front);
      if (isOwn && errorText !== 'net::ERR_ABORTED')
        visitor.complaints.push(`${request.url()} was not to be had: ${errorText}`);
    });
    page.on('response', (response) => visitor.note(response));
    return visitor;
  }

  /** Path of a call below the API; undefined: it is none. */
  private pathOf = (url: string): string | undefined =>
    url.startsWith(`${this.places.api}/`) ? url.slice(this.places.api.length) : undefined;

  private note(response: Response): void {
    const status = response.status();
    const method = response.request().method();
    const path = this.pathOf(response.url());
    if (path === undefined) {
      if (status >= 400) this.complaints.push(`${response.url()} answered ${status}`);
      return;
    }
    if (status >= 400 && !isExpected(path, status)) {
      const said = response.text().catch((cause: unknown) => String(cause));
      this.saying.push(said.then((text) => void this.complaints.push(`${method} ${path} answered ${status}: ${text}`)));
    }
    const action = this.actions.find((each) => each.method === method && each.matches.test(path));
    if (action) this.done.set(action.name, String(status));
    else if (method !== 'GET') this.complaints.push(`${method} ${path} is no action that the program of the UI has`);
  }

  /** By its address, as a link or a bookmark does; waits until all of these texts are shown. */
  async open(path: string, ...shows: (string | RegExp)[]): Promise<void> {
    await this.page.goto(`${this.places.front}/ui${path}`, { waitUntil: 'domcontentloaded' });
    await this.sees(...shows);
  }

  /** From the page that is shown to another one, which is not loaded anew. */
  async goesOn(path: string, ...shows: (string | RegExp)[]): Promise<void> {
    const address = JSON.stringify(`${new URL(this.places.front).pathname}/ui${path}`);
    await this.page.evaluate(`history.pushState(null, '', ${address}); dispatchEvent(new PopStateEvent('popstate'))`);
    await this.sees(...shows);
  }

  /** To the window of the browser from another one: the UI asks anew for what it shows, as it does once a minute. */
  async comesBack(): Promise<void> {
    await this.rests();
    await this.page.evaluate("dispatchEvent(new Event('focus'))");
  }

  /** All of these texts are in the page, in small or capital letters, sections that are folded up included. */
  async sees(...shows: (string | RegExp)[]): Promise<void> {
    const unfold = `document.querySelectorAll('[data-action=expandToggle]').forEach((toggle) => {
      if (toggle.textContent === 'View') toggle.click();
    })`;
    let shown = '';
    const missing = (): (string | RegExp)[] =>
      shows.filter((text) => !(typeof text === 'string' ? shown.includes(text.toLowerCase()) : text.test(shown)));
    const look = async (): Promise<boolean> => {
      await this.page.evaluate(unfold);
      shown = (await this.page.locator('body').innerText()).replace(/\s+/g, ' ').toLowerCase();
      return missing().length === 0;
    };
    await waitFor('the page', look, { ...patience, everyMillis: 100 }).catch((cause: unknown) => {
      const problems = this.complaints.join('\n');
      const what = `${this.page.url()} does not show ${missing().join(', ')}`;
      throw new Error(`${what}. ${problems}\nIt shows:\n${shown}`, { cause });
    });
  }

  /** Until all calls of the page are answered. */
  rests = (): Promise<true> => patiently('the calls of the page to be answered', () => this.inFlight === 0);

  /** Problems since the last call of this: failed calls, failures of the program, messages of errors in the page. */
  async problems(): Promise<string[]> {
    await this.rests();
    await this.page.evaluate('new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))');
    await Promise.all(this.saying.splice(0));
    const messages = await this.page.locator('.messenger .message-error, p.alert-danger').allInnerTexts();
    const problems = [...this.complaints, ...messages.map((text) => `The page says: ${text}`)];
    this.complaints = [];
    return problems;
  }

  /** An element with these words on it, in the page or in the dialog above it. */
  button = (text: string | RegExp, within: Page | Locator = this.page): Locator =>
    within.locator('button, a').filter({ hasText: text }).filter({ visible: true }).first();

  /** The dialog that asks before something is done. */
  get dialog(): Locator {
    return this.page.locator('.modal-dialog').last();
  }

  /** Fills in the fields of the dialog by their names (true presses a box), and agrees. */
  async agree(fields: Record<string, string | true> = {}): Promise<void> {
    await this.dialog.waitFor();
    const asked = (await this.dialog.elementHandle())!;
    const field = (name: string): Locator => this.dialog.locator(`[name="${name}"]`);
    for (const [name, value] of Object.entries(fields)) {
      if (value === true) await field(name).click();
      else await field(name).fill(value);
    }
    // The UI puts its defaults back into a dialog when what it shows has changed meanwhile.
    for (const [name, value] of Object.entries(fields)) {
      if (value === true) continue;
      const holds = async (): Promise<boolean> => (await field(name).inputValue()) === value;
      await patiently(`${name} to be filled in`, async () => (await holds()) || (await field(name).fill(value), false));
    }
    await this.dialog.locator('.modal-footer button').last().click();
    // It fades away, and would be taken for the next one.
    await asked.waitForElementState('hidden');
  }

  /** Does it, and waits until the UI has made the call of this action and had a good answer. */
  async acts(action: string, press: () => Promise<unknown>): Promise<void> {
    const found = this.actions.find(({ name }) => name === action);
    if (!found) throw new Error(`The program of the UI has no action ${action}`);
    // Longer than the page is given to be pressed: that it cannot be is told first.
    const answered = this.page.waitForResponse(
      (response) =>
        response.request().method() === found.method && found.matches.test(this.pathOf(response.url()) ?? ''),
      { timeout: 1.5 * patience.timeoutMillis },
    );
    await Promise.all([answered, press()]);
    const answer = await answered;
    if (!answer.ok())
      throw new Error(`${action} (${answer.request().postData()}) answered ${answer.status()}: ${await answer.text()}`);
    this.done.set(action, String(answer.status()));
  }

  /** Presses what has these words, agrees to what the dialog asks, and waits for the answer. */
  presses(action: string, text: string | RegExp | Locator, fields?: Record<string, string | true>): Promise<void> {
    return this.acts(action, async () => {
      await (typeof text === 'string' || text instanceof RegExp ? this.button(text) : text).click();
      await this.agree(fields);
    });
  }
}
